"""Accuracy of one class's samples as rows of a table: per concept, their product, and what the papers compare it with.

The product (Okawa et al. 2023, Eq. 2) counts an image as right if every concept is. The additive measure is the mean of
the per-concept accuracies (Fig. 6); the product of marginals equals the product if concepts fail independently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from recombine.instruments.observation import Row

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.instruments.shapes.probes import Judge
    from recombine.instruments.shapes.reader import Measured

COLUMNS: dict[str, type] = {
    "node": str,  # the class that was asked for, as digits; empty on canvases without an object
    "distance": int,  # of the class from the nearest trained one, in concepts
    "sampler": str,  # a second sampler; empty for the run's first
    "canvas": str,  # without an object: "blank", "noise" or "mean"
    "concept": str,  # of accuracies and answers of a single concept
    "answer": str,  # the value of the concept that was found
}
"""The factor columns of every experiment that measures samples of a concept graph."""


def reader_correct(measured: Measured, digits: Tensor) -> Tensor:
    """Which concepts are right in each image; none where there is not exactly one object.  # [n, concepts] bool"""
    return (measured.digits == digits) & (measured.objects == 1)[:, None]


def probe_correct(judge: Judge, images: Tensor, digits: Tensor) -> tuple[Tensor, Tensor]:
    """Which concepts the judge calls right, and the probability it gives the right value.  # [n, concepts], twice"""
    chances = judge.probabilities(images)
    target = digits.to(images.device).expand(len(images), -1)  # [n, concepts]
    right = judge.answers(images) == target
    columns = [part.gather(1, target[:, i, None])[:, 0] for i, part in enumerate(chances.values())]
    return right, torch.stack(columns, 1)


def accuracy_rows(
    correct: Tensor, judge: str, concepts: Sequence[str], probabilities: Tensor | None = None
) -> list[Row]:
    """Accuracies from the correctness [n, concepts] of one class's images.

    `<judge>.product`, `.accuracy` of each concept, `.additive`, `.marginals`; with the probabilities of the right
    values [n, concepts] also `.probability`, the mean of their product (the paper's main text).
    """
    if len(correct) == 0:
        raise ValueError("accuracy needs at least one image")
    each = correct.double().mean(0)  # [concepts]
    values = {
        "product": correct.all(1).double().mean().item(),  # Eq. 2
        "additive": each.mean().item(),
        "marginals": each.prod().item(),
    }
    if probabilities is not None:
        values["probability"] = probabilities.double().prod(1).mean().item()
    rows: list[Row] = [{"instrument": f"{judge}.{name}", "value": value} for name, value in values.items()]
    alone = zip(concepts, each.tolist(), strict=True)
    return rows + [{"instrument": f"{judge}.accuracy", "concept": name, "value": value} for name, value in alone]


def reader_rows(measured: Measured, digits: Tensor, concepts: Mapping[str, Sequence[str]]) -> list[Row]:
    """Accuracy by the reader, how many images hold no object or several, and how many show each value of a concept."""
    one = measured.objects == 1
    rows = accuracy_rows(reader_correct(measured, digits), "reader", tuple(concepts))
    rows += [_share("reader.none", measured.objects == 0), _share("reader.several", measured.objects == 2)]
    return rows + [
        _share("reader.answer", one & (measured.digits[:, place] == digit)) | {"concept": concept, "answer": value}
        for place, (concept, values) in enumerate(concepts.items())
        for digit, value in enumerate(values)
    ]


def probe_rows(judge: Judge, images: Tensor, digits: Tensor, name: str = "probe") -> list[Row]:
    """Accuracy by a trained judge: the linear probes, as the paper measured it, or a classifier."""
    right, chance = probe_correct(judge, images, digits)
    return accuracy_rows(right, name, tuple(judge.concepts), chance)


def disagreement_rows(probes: Judge, images: Tensor, measured: Measured, digits: Tensor) -> list[Row]:
    """Of all images: how many the probes call right in every concept although the reader finds no object, several
    objects, or one object that is not the one asked for.
    """
    right = (probes.answers(images) == digits.to(images.device)).all(1).cpu()
    wrong = (measured.objects == 1) & ~reader_correct(measured, digits).all(1)
    found = {"none": measured.objects == 0, "several": measured.objects == 2, "other": wrong}
    return [_share(f"probe.product.{name}", right & hits) for name, hits in found.items()]


def answer_rows(judge: Judge, images: Tensor, name: str) -> list[Row]:
    """The mean probability that a judge gives each value: the place of a class's samples in concept space."""
    return [
        {"instrument": f"{name}.answer", "concept": concept, "answer": value, "value": chance}
        for concept, chances in judge.probabilities(images).items()
        for value, chance in zip(judge.concepts[concept], chances.double().mean(0).tolist(), strict=True)
    ]


def _share(instrument: str, hits: Tensor) -> Row:
    return {"instrument": instrument, "value": hits.double().mean().item()}
