from collections import Counter

import pytest
import torch

from recombine import seeds
from recombine.errors import UserError
from recombine.settings import build
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import HELD_OUT, Band, Blocks, Cross, Grid, LabelSplit, Square
from recombine.worlds.splits import draw

FRAME = BumpsWorld(pattern="stripes", margin=6)


def test_the_cross_of_the_paper_leaves_two_thirds() -> None:
    split = LabelSplit(held_out=Cross())
    assert len(split.labels(BumpsWorld(), 0)) == 259**2
    regions = Counter(split.region(BumpsWorld(), BumpsWorld().centres()))
    assert regions == {"seen": 625, "vertical arm": 175, "horizontal arm": 175, "intersection": 49}


def test_an_arm_is_named_after_the_way_it_runs() -> None:
    split = LabelSplit(held_out=Cross())
    places = torch.tensor([[16.0, 3.0], [3.0, 16.0], [13.0, 19.0], [19.5, 12.5]], dtype=torch.float64)
    assert split.region(BumpsWorld(), places) == ["vertical arm", "horizontal arm", "intersection", "seen"]


def test_a_hold_out_takes_nothing_from_outside_of_the_image() -> None:
    whole = LabelSplit(parts=("2D", "1D"), step=0.5)
    cross = LabelSplit(parts=("2D", "1D"), step=0.5, held_out=Cross())
    lost = {tuple(p) for p in whole.labels(FRAME, 0).tolist()} - {tuple(p) for p in cross.labels(FRAME, 0).tolist()}
    assert lost
    assert all(6 < x <= 38 and 6 < y <= 38 for x, y in lost)
    lone = cross.labels(FRAME, 0)
    assert bool(((lone[:, 0] == 22) & (lone[:, 1] < 6)).any())  # the stripe through the middle of the cross is seen


def test_without_the_rim_only_lone_stripes_are_left() -> None:
    lone = LabelSplit(parts=("1D",), rim=False).labels(FRAME, 0)
    assert len(lone) == 22_400
    dark = (1 - FRAME.render(lone[::97])) / 2
    assert dark.max().item() < 0.5 + 1.1 / 510


def test_shares_are_nested_and_of_the_image_alone() -> None:
    few, more = (LabelSplit(step=1, share=share).labels(BumpsWorld(), 3) for share in (0.2, 0.5))
    assert len(few) == round(0.2 * 1024)
    assert {tuple(p) for p in few.tolist()} < {tuple(p) for p in more.tolist()}
    other = LabelSplit(step=1, share=0.2).labels(BumpsWorld(), 4)
    assert {tuple(p) for p in few.tolist()} != {tuple(p) for p in other.tolist()}
    wide = BumpsWorld(width=0.3)
    assert torch.equal(LabelSplit(step=1, share=0.2).labels(wide, 3), few)  # the same points for every width
    stripes = LabelSplit(parts=("2D", "1D"), step=0.5, share=0.25).labels(FRAME, 0)
    assert torch.bincount(FRAME.dimension(stripes)).tolist() == [0, 2 * 24 * 64, 1024]


def test_bands_and_squares() -> None:
    world, centres = BumpsWorld(), BumpsWorld().centres()
    band = LabelSplit(held_out=Band(across=4)).region(world, centres)
    assert Counter(band)["held out"] == 4 * 32
    inside = LabelSplit(held_out=Square(side=4)).region(world, centres)
    assert next(tuple(p) for p, r in zip(centres.tolist(), inside, strict=True) if r == "held out") == (15, 15)
    assert Counter(inside)["held out"] == 16
    corner = LabelSplit(held_out=Square(side=4, at="corner")).region(world, centres)
    assert Counter(corner)["held out"] == 16
    assert corner[0] == "held out"
    fifth = LabelSplit(held_out=Square.of_share(0.2, 32)).labels(world, 0)
    assert len(fifth) / 102_400 == pytest.approx(0.8, abs=0.005)


def test_the_pool_draws_every_image_as_often() -> None:
    split = LabelSplit(step=2.0, held_out=Square(side=8))
    pool = split.pool(BumpsWorld(pixels=16), 0)
    labels = split.labels(BumpsWorld(pixels=16), 0)
    assert len(pool.images) == len(labels) == 64 - 16
    images, conditions = draw(pool, seeds.keys(0, "order", torch.arange(48_000)))
    assert torch.equal(BumpsWorld(pixels=16).render(conditions[:50]), images[:50])
    counts = Counter(tuple(c) for c in conditions.tolist())
    assert len(counts) == 48
    assert min(counts.values()) > 800  # of 1,000


@pytest.mark.parametrize(
    ("world", "split", "says"),
    [
        ({}, {"held_out": {"kind": "square", "side": 40}}, "leaves no label"),
        ({}, {"held_out": {"kind": "cross", "low": 0, "high": 32}}, "leaves no label"),
        ({}, {"parts": ("1D",)}, "give the world a margin"),
        ({}, {"step": 0.3}, "does not divide"),
        ({}, {"held_out": {"kind": "cross", "low": 9, "high": 8}}, "low <= high"),
        ({}, {"step": 1.0, "share": 0.0001}, "leaves no label"),
    ],
)
def test_bad_input_gets_one_line(world, split, says) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match=says) as caught:
        build(LabelSplit, split).check(build(BumpsWorld, world))
    assert "\n" not in str(caught.value)


def test_blocks_leave_one_in_every_row_and_column_of_blocks() -> None:
    world = BumpsWorld(pixels=6)
    split = LabelSplit(step=1.0, held_out=Blocks(order=(1, 2, 0)))
    seen = {(int(x), int(y)) for x, y in split.labels(world, 0).tolist()}
    assert seen == {(x, y) for xs, ys in (((1, 2), (3, 4)), ((3, 4), (5, 6)), ((5, 6), (1, 2))) for x in xs for y in ys}


def test_a_grid_leaves_every_nth_row_and_column() -> None:
    world = BumpsWorld(pixels=6)
    split = LabelSplit(step=1.0, held_out=Grid(every=3))
    assert {(int(x), int(y)) for x, y in split.labels(world, 0).tolist()} == {(2, 2), (2, 5), (5, 2), (5, 5)}
    assert split.region(world, world.centres()).count(HELD_OUT) == 32


def test_blocks_that_name_one_twice_are_refused() -> None:
    with pytest.raises(UserError, match="each of 0 to 2 once"):
        build(LabelSplit, {"held_out": {"kind": "blocks", "order": [0, 1, 1]}})
