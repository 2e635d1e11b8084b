"""A reader of shapes that was never trained: it measures the object in an image and says which node it is, or none.

A linear probe must answer one of its classes and calls a blank canvas a small triangle. The reader finds objects first
(none, one, several), measures colour, radius and centre, compares the shape with the world's templates, and
answers -1 for a concept whose measure lies near no value. Its tolerances were set once, on real images.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import torch

from recombine.deferred import no_grad
from recombine.instruments.observation import Row
from recombine.worlds.shapes import FACTORS, ShapesWorld
from recombine.worlds.splits import empty_images, real_images

if TYPE_CHECKING:
    from torch import Tensor

# The tolerances, set once on 400 real images of each node at 16, 28 and 32 pixels, where every answer is right, also
# with noise of 0.05 and a blur of half a pixel, which samples have.
MASK = 0.5  # a pixel with half the contrast of the palest real object is nearer to that object than to the paper
SPECK = 0.2  # components under this fraction of the smallest real object's area are not objects
CORE = 0.85  # pixels with this share of an object's strongest contrast are fully covered: their mean is its colour
MARGIN = 0.25  # how far outside a value's real range a measure may lie, in units of the gap between two values
PAPER = 0.2  # how far the image's own background may be from a real one, in its worst channel
RESIDUAL = 0.1  # largest squared mismatch with the best template, over its own square; those images: under 0.05
LEAD = 1 / 3  # least way from the halfway point between the best template and the next (0) to the best template (1)
CHUNK = 512  # images read together, so that memory stays small


@dataclass(frozen=True)
class Measured:
    """What the reader finds in n images, on the CPU. Measures are of the largest object; NaN where there is none."""

    objects: Tensor  # [n] int8: 0 none, 1 one, 2 several
    digits: Tensor  # [n, concepts] int64; -1 unreadable or no such value
    rgb: Tensor  # [n, 3] in [0, 1]
    radius: Tensor  # [n] of the circle of equal area, canvas units
    centre: Tensor  # [n, 2] x, y
    residuals: Tensor  # [n, shapes] mismatch with each shape's template, as a fraction of its area


def read(images: Tensor, world: ShapesWorld) -> Measured:
    """Read images [n, 3, H, W] in [-1, 1]. Values beyond are clipped; an image with NaN or infinities is unreadable."""
    parts = [_read(part, world) for part in torch.split(images.detach().cpu().float(), CHUNK)]
    return Measured(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(Measured)))


def calibrate_reader(world: ShapesWorld, per_node: int, seed: int) -> list[Row]:
    """How often the reader is right on fresh real images, and how many objects it finds where there is none."""
    rows: list[Row] = []
    for node in world.nodes:
        images, digits = real_images(world, (node,), per_node, seed, "reader-calibration")
        found = read(images, world)
        right = (found.digits == digits) & (found.objects == 1)[:, None]  # [n, concepts]
        rows.append({"node": node, "instrument": "calibration.reader.product", "value": _share(right.all(1))})
        rows += [{"node": node, "instrument": "calibration.reader.accuracy", "concept": concept, "value": _share(hits)}
                 for concept, hits in zip(world.concepts, right.unbind(1), strict=True)]  # fmt: skip
    for canvas, images in empty_images(world, per_node, seed).items():
        objects = read(images, world).objects
        rows += [{"canvas": canvas, "instrument": f"calibration.reader.{count}", "value": _share(objects == value)}
                 for value, count in enumerate(("none", "one", "several"))]  # fmt: skip
    return rows


def _share(hits: Tensor) -> float:
    return hits.double().mean().item()


@no_grad
def _read(images: Tensor, world: ShapesWorld) -> Measured:
    broken = ~images.isfinite().flatten(1).all(1)  # [n]
    pixels = images.nan_to_num(0.0).clamp(-1, 1).add(1).mul(0.5)  # [n, 3, H, W] in [0, 1]
    paper = _paper(pixels)  # [n, 3]
    colored = pixels - paper[..., None, None]
    contrast = colored.square().sum(1).sqrt()  # [n, H, W]
    inks, papers = world.color_prototypes(), world.background_values()[:, None].expand(-1, 3)
    main, objects = _components(contrast > MASK * torch.cdist(inks, papers).min(), SPECK * _smallest_area(world))

    strongest = torch.where(main, contrast, 0).amax((1, 2), keepdim=True)
    core = (main & (contrast >= CORE * strongest)).float()[:, None]  # [n, 1, H, W]
    rgb = (pixels * core).sum((2, 3)) / core.sum((2, 3))  # [n, 3]; NaN without an object
    ink = (rgb - paper)[..., None, None]
    cover = (colored * ink).sum(1) / ink.square().sum(1)  # [n, H, W], projected on the object's colour
    # Its soft edge is within two pixels; further out noise would add up. Not clipped at 0, so that noise averages out.
    near = torch.nn.functional.max_pool2d(main[:, None].float(), 5, stride=1, padding=2)[:, 0].bool()
    cover = torch.where(near, cover.clamp(-0.5, 1.5), 0)
    weight = cover.sum((1, 2))  # [n], in pixels
    weight = torch.where(weight > 0, weight, torch.nan)
    radius = (weight / torch.pi).sqrt() * 2 / world.pixels
    centre = _centroid(cover, weight, world.pixels)  # [n, 2]

    shape, residuals = _read_shape(cover, radius, centre, world)
    color_gaps, size_gaps = _gaps(rgb, inks), (radius[:, None] - world.size_prototypes()).abs()
    color_range, size_range = world.color_separation * world.color_jitter, world.size_separation * world.size_jitter
    size_step = world.size_separation / max(1, len(world.sizes) - 1)
    answers = {
        "shape": shape,
        "color": _nearest(color_gaps, color_range + MARGIN * _smallest_gap(inks, world.color_separation)),
        "size": _nearest(size_gaps, size_range + MARGIN * size_step),
        "background": _nearest(_gaps(paper, papers), world.background_jitter + PAPER),
    }
    gone = (rgb - paper).abs().amax(1) < color_gaps.amin(1)  # nearer to the background than to any colour
    objects = torch.where(gone | broken, 0, objects)
    unreadable = (objects == 0) | (answers["background"] < 0)
    digits = torch.stack([answers[name] for name in world.concepts], 1).masked_fill(unreadable[:, None], -1)
    return Measured(objects.to(torch.int8), digits, rgb, radius, centre, residuals)


def _paper(pixels: Tensor) -> Tensor:
    """The background's colour: the median of the border pixels, channel by channel.  # [n, 3]"""
    rows, columns = pixels[:, :, [0, -1], :], pixels[:, :, 1:-1, [0, -1]]
    return torch.cat([rows.flatten(2), columns.flatten(2)], 2).median(2).values


def _components(mask: Tensor, speck: float) -> tuple[Tensor, Tensor]:
    """The largest component of each image, and how many reach `speck` pixels (0, 1, 2 = more).  # [n, H, W], [n]"""
    flat = np.zeros((3, 3, 3), dtype=bool)
    flat[1] = True  # neighbours within an image, corners too; never across images
    from scipy import ndimage

    labels, count = ndimage.label(mask.numpy(), structure=flat)
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:]  # of label 1, 2, ...
    owner = np.zeros(count, dtype=np.int64)
    places = np.nonzero(labels)
    owner[labels[places] - 1] = places[0]
    large = np.flatnonzero(areas >= speck)
    objects = np.bincount(owner[large], minlength=len(mask)).clip(max=2)
    largest = np.full(len(mask), -1)
    by_area = large[np.argsort(areas[large], kind="stable")]
    largest[owner[by_area]] = by_area + 1  # the last one written is the largest
    return torch.from_numpy(labels == largest[:, None, None]), torch.from_numpy(objects)


def _smallest_area(world: ShapesWorld) -> float:
    """Area of the smallest real object, in pixels."""
    radius = float(world.size_prototypes().min()) - world.size_separation * world.size_jitter
    return float(np.pi) * (radius * world.pixels / 2) ** 2


def _centroid(cover: Tensor, weight: Tensor, pixels: int) -> Tensor:
    ticks = (torch.arange(pixels) + 0.5) * (2 / pixels) - 1
    x = (cover.sum(1) * ticks).sum(1) / weight
    y = -(cover.sum(2) * ticks).sum(1) / weight  # row 0 is the top
    return torch.stack([x, y], 1)


def _read_shape(cover: Tensor, radius: Tensor, centre: Tensor, world: ShapesWorld) -> tuple[Tensor, Tensor]:
    """The index of each image's shape or -1, and its mismatch with every shape's template.  # [n], [n, shapes]

    A template has the measured radius and place. It is taken sharp, half soft or soft, whichever fits the image best.
    """
    factors = torch.zeros(len(cover), len(FACTORS))
    factors[:, 4], factors[:, 6:8] = radius.nan_to_num(), centre.nan_to_num()
    sharp = []
    for index in range(len(world.shapes)):
        factors[:, 0] = index
        sharp.append(world.coverage(factors))
    softness = torch.stack(sharp, 1), _soften(torch.stack(sharp, 1))
    templates = torch.stack([softness[0], (softness[0] + softness[1]) / 2, softness[1]], 1)  # [n, 3, shapes, H, W]
    square = templates.square().sum((3, 4))  # [n, 3, shapes]
    mismatch = (cover[:, None, None] - templates).square().sum((3, 4)) / square
    row, soft = torch.arange(len(cover)), mismatch.amin(2).argmin(1)
    residuals = mismatch[row, soft]  # [n, shapes]
    best, *rivals = residuals.argsort(1).unbind(1)
    fits = residuals[row, best] <= RESIDUAL
    if rivals:
        between = (templates[row, soft, best] - templates[row, soft, rivals[0]]).square().sum((1, 2))
        lead = (residuals[row, rivals[0]] - residuals[row, best]) * square[row, soft, best] / between
        fits &= lead >= LEAD
    return torch.where(fits, best, -1), residuals


def _soften(stack: Tensor) -> Tensor:
    """Blur by the binomial filter 1 2 1 along both axes: a standard deviation of 0.7 pixels."""
    wide = torch.nn.functional.pad(stack, (1, 1, 1, 1))
    rows = wide[..., :-2, :] + 2 * wide[..., 1:-1, :] + wide[..., 2:, :]
    return (rows[..., :-2] + 2 * rows[..., 1:-1] + rows[..., 2:]) / 16


def _gaps(colors: Tensor, prototypes: Tensor) -> Tensor:
    """Largest channel difference: ranges of colour are boxes.  # [n, prototypes]"""
    return (colors[:, None] - prototypes).abs().amax(2)


def _smallest_gap(prototypes: Tensor, of_one: float) -> float:
    gaps = [float(_gaps(a[None], b[None])) for a, b in combinations(prototypes, 2)]
    return min(gaps, default=of_one)


def _nearest(gaps: Tensor, tolerance: float) -> Tensor:
    """The nearest prototype, or -1 if it is further than `tolerance`.  # [n]"""
    return torch.where(gaps.amin(1) <= tolerance, gaps.argmin(1), -1)
