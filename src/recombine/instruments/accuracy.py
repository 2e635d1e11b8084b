"""Accuracy of one node's samples as rows of a table: per concept, their product, and what the papers compare it with.

The product (Okawa et al. 2023, Eq. 2) counts an image as right if every concept is. The additive measure is the mean of
the per-concept accuracies (Fig. 6); the product of marginals equals the product if concepts fail independently.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from recombine.instruments.probes import Probes
from recombine.instruments.reader import Reading


def reader_correct(reading: Reading, digits: Tensor) -> Tensor:
    """Which concepts are right in each image; none where there is not exactly one object.  # [n, concepts] bool"""
    return (reading.digits == digits) & (reading.objects == 1)[:, None]


def probe_correct(probes: Probes, images: Tensor, digits: Tensor) -> tuple[Tensor, Tensor]:
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


def reader_rows(node: str, reading: Reading, digits: Tensor, concepts: Sequence[str]) -> list[dict[str, Any]]:
    """Accuracy by the reader, with the fractions of images that hold no object or several."""
    rows = accuracy_rows(node, reader_correct(reading, digits), "reader", concepts)
    for name, count in (("none", 0), ("several", 2)):
        share = (reading.objects == count).double().mean().item()
        rows.append({"node": node, "instrument": f"reader.{name}", "value": share})
    return rows


def probe_rows(
    node: str, probes: Probes, images: Tensor, digits: Tensor, concepts: Sequence[str]
) -> list[dict[str, Any]]:
    """Accuracy by the linear probes, as the paper measured it."""
    right, chance = probe_correct(probes, images, digits)
    return accuracy_rows(node, right, "probe", concepts, chance)
