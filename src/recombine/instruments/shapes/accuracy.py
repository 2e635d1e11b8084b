"""Accuracy of one node's samples as rows of a table: per concept, their product, and what the papers compare it with.

The product (Okawa et al. 2023, Eq. 2) counts an image as right if every concept is. The additive measure is the mean of
the per-concept accuracies (Fig. 6); the product of marginals equals the product if concepts fail independently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from recombine.instruments.shapes.probes import Judge
from recombine.instruments.shapes.reader import Reading

if TYPE_CHECKING:
    from torch import Tensor


def reader_correct(reading: Reading, digits: Tensor) -> Tensor:
    """Which concepts are right in each image; none where there is not exactly one object.  # [n, concepts] bool"""
    return (reading.digits == digits) & (reading.objects == 1)[:, None]


def probe_correct(probes: Judge, images: Tensor, digits: Tensor) -> tuple[Tensor, Tensor]:
    """Which concepts the probes call right, and the probability they give the right value.  # [n, concepts], twice"""
    chances = probes.probabilities(images)
    target = digits.to(images.device).expand(len(images), -1)  # [n, concepts]
    right = probes.answers(images) == target
    columns = [part.gather(1, target[:, i, None])[:, 0] for i, part in enumerate(chances.values())]
    return right, torch.stack(columns, 1)


def accuracy_rows(
    node: str, correct: Tensor, prefix: str, concepts: Sequence[str], probabilities: Tensor | None = None
) -> list[dict[str, Any]]:
    """Rows {node, instrument, value} from the correctness [n, concepts] of one node's images.

    "<prefix>.product", "<prefix>.<concept>", "<prefix>.additive", "<prefix>.marginals"; with the probabilities of the
    right values [n, concepts] also "<prefix>.probability", the mean of their product (the paper's main text).
    """
    if len(correct) == 0:
        raise ValueError(f"no images of node {node}: accuracy needs at least one")
    each = correct.double().mean(0)  # [concepts]
    values = {
        "product": correct.all(1).double().mean().item(),  # Eq. 2
        **dict(zip(concepts, each.tolist(), strict=True)),
        "additive": each.mean().item(),
        "marginals": each.prod().item(),
    }
    if probabilities is not None:
        values["probability"] = probabilities.double().prod(1).mean().item()
    return [{"node": node, "instrument": f"{prefix}.{name}", "value": value} for name, value in values.items()]


def reader_rows(
    node: str, reading: Reading, digits: Tensor, concepts: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Accuracy by the reader, how many images hold no object or several, and how many show each value of a concept."""
    rows = accuracy_rows(node, reader_correct(reading, digits), "reader", tuple(concepts))
    shares = {"none": reading.objects == 0, "several": reading.objects == 2}
    for place, (concept, values) in enumerate(concepts.items()):
        for digit, value in enumerate(values):
            shares[f"{concept}={value}"] = (reading.objects == 1) & (reading.digits[:, place] == digit)
    return rows + [_share(node, f"reader.{name}", hits) for name, hits in shares.items()]


def disagreement_rows(
    node: str, probes: Judge, images: Tensor, reading: Reading, digits: Tensor
) -> list[dict[str, Any]]:
    """Of all images: how many the probes call right in every concept although the reader sees no object, several
    objects, or one object that is not the one asked for.
    """
    right = (probes.answers(images) == digits.to(images.device)).all(1).cpu()
    wrong = (reading.objects == 1) & ~reader_correct(reading, digits).all(1)
    shares = {"none": reading.objects == 0, "several": reading.objects == 2, "other": wrong}
    return [_share(node, f"probe.product.{name}", right & hits) for name, hits in shares.items()]


def probe_rows(node: str, judge: Judge, images: Tensor, digits: Tensor, prefix: str = "probe") -> list[dict[str, Any]]:
    """Accuracy by a trained judge: the linear probes, as the paper measured it, or a classifier."""
    right, chance = probe_correct(judge, images, digits)
    return accuracy_rows(node, right, prefix, tuple(judge.concepts), chance)


def answer_rows(node: str, judge: Judge, images: Tensor, prefix: str) -> list[dict[str, Any]]:
    """The mean probability that a judge gives each value: the place of a node's samples in concept space."""
    return [
        {"node": node, "instrument": f"{prefix}.{concept}={value}", "value": chance}
        for concept, chances in judge.probabilities(images).items()
        for value, chance in zip(judge.concepts[concept], chances.double().mean(0).tolist(), strict=True)
    ]


def _share(node: str, instrument: str, hits: Tensor) -> dict[str, Any]:
    return {"node": node, "instrument": instrument, "value": hits.double().mean().item()}
