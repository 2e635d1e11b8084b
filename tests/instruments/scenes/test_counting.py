"""Counting knows what is there, what is missing and what is too much; pairs are as good as the best assignment."""

from collections.abc import Sequence
from itertools import product

import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from recombine import seeds
from recombine.errors import UserError
from recombine.instruments.scenes.counting import (
    CHANCE,
    CHANCE_ISOLATED,
    LEAST,
    NEAR,
    RECALL,
    RECALL_CLOSE,
    RECALL_ISOLATED,
    SHARE_ISOLATED,
    calibrate_counting,
    count,
    count_rows,
    isolated_labels,
    k_max,
    pair,
    recall_curve,
)
from recombine.instruments.scenes.object_finder import DiscFinder, Found
from recombine.worlds.scenes.world import SceneWorld

WORLD = SceneWorld(style="discs", pixels=32)
CELL = WORLD.pixels / WORLD.grid
FINDER = DiscFinder(WORLD)


def found_at(places: Tensor, present: Tensor | None = None) -> Found:
    present = torch.ones(places.shape[:2], dtype=torch.bool) if present is None else present
    return Found(places, present.double(), present)


def drawn(counts: Sequence[int], stream: str = "counting", loose: bool = True) -> Tensor:
    key = seeds.keys(0, stream, torch.arange(len(counts)))
    return WORLD.draw(torch.tensor(counts), key, loose=loose)


def values(rows: list[dict[str, object]], labels: int) -> dict[str, object]:
    return {str(row["instrument"]): row["value"] for row in rows if row["labels"] == labels}


def test_rendered_scenes_hold_all_that_was_asked_for_and_nothing_else() -> None:
    rows = calibrate_counting(FINDER, WORLD, per_count=64, seed=0)
    assert {row["labels"] for row in rows} == set(range(1, 13))
    for k in range(1, 13):
        found = values(rows, k)
        assert found["calibration.count.recall"] == found["calibration.count.strict"] == 1
        assert found["calibration.count.extras"] == found["calibration.count.error"] == 0
        assert found["calibration.count.precision"] == 1
        assert found["calibration.count.objects"] == k
        assert found["calibration.count.off"] < 0.1  # cells
        assert found["calibration.count.chance"] < 0.5
    assert k_max(recall_curve(rows, f"calibration.{RECALL}")).steady == 12


def test_isolated_labels_have_no_other_close_by() -> None:
    cells = torch.tensor([[[1, 1], [3, 2], [3, 5], [9, 9]], [[1, 1], [1, 4], [0, 0], [0, 0]]])
    labelled = torch.tensor([[True] * 4, [True, True, False, False]])
    places = CELL * (cells + 0.5)
    assert isolated_labels(places, labelled, CELL).tolist() == [[False, False, True, True], [True, True, False, False]]
    assert isolated_labels(CELL * (cells[:1, 3:] + 0.5), labelled[:1, 3:], CELL).tolist() == [[True]]  # alone
    present = torch.tensor([[True, False, True, False], [True, False, False, False]])
    rows = count_rows(found_at(places, present), places, labelled, CELL)
    four, two = values(rows, 4), values(rows, 2)
    assert (four[RECALL_ISOLATED], four[RECALL_CLOSE], four[SHARE_ISOLATED]) == (0.5, 0.5, 0.5)
    assert (two[RECALL_ISOLATED], two[RECALL_CLOSE], two[SHARE_ISOLATED]) == (0.5, None, 1)


def test_chance_of_isolated_labels() -> None:
    places = CELL * (torch.tensor([[[1, 1], [9, 9]], [[1, 1], [2, 1]]]) + 0.5)  # two far from each other, two close
    shown = torch.tensor([[True, False], [False, False]])  # an object at (1, 1) of the first image
    found = values(count_rows(found_at(places, shown), places, torch.ones(2, 2, dtype=torch.bool), CELL), 2)
    assert found[CHANCE] == 0.25  # the first image has an object at one of the second's labels
    assert found[CHANCE_ISOLATED] == 0  # the second has none at the first's, which are isolated


def test_an_object_removed_added_or_moved_is_seen_as_that() -> None:
    factors = drawn([5] * 40)
    places, present = WORLD.centres(factors)
    fewer = factors.clone()
    fewer[:, 0] = 0  # the first object is no longer there
    counted = count(FINDER.find(WORLD.render(fewer)), places, present, CELL)
    assert counted.drawn[:, :5].tolist() == [[False, True, True, True, True]] * 40
    assert counted.extras.tolist() == [0] * 40
    assert counted.objects.tolist() == [4] * 40
    assert not counted.strict.any()
    labelled = present.clone()
    labelled[:, 0] = False  # it is there, but not labelled
    counted = count(FINDER.find(WORLD.render(factors)), places, labelled, CELL)
    assert counted.strict.all()
    assert counted.extras.tolist() == [1] * 40
    assert counted.recall.tolist() == [1.0] * 40


def test_an_object_three_cells_off_is_at_no_label_and_is_extra() -> None:
    factors = drawn([1] * 40)
    places, present = WORLD.centres(factors)
    away = torch.where(places < WORLD.pixels / 2, 3 * CELL, -3 * CELL) * torch.tensor([1.0, 0.0])
    found = FINDER.find(WORLD.render(factors))
    counted = count(found, places + away, present, CELL)
    assert counted.recall.tolist() == [0.0] * 40
    assert counted.extras.tolist() == [1] * 40
    near = count(found, places + away / 3, present, CELL)  # one cell
    assert near.strict.all()
    assert near.extras.tolist() == [0] * 40
    assert near.off[:, 0].numpy() == pytest.approx(CELL, abs=0.3)
    assert near.off[:, 1:].isnan().all()


def test_empty_images_hold_nothing() -> None:
    empty = torch.ones(3, *WORLD.image_shape)
    places, present = WORLD.centres(drawn([1, 3, 3]))
    rows = count_rows(FINDER.find(empty), places, present, CELL)
    for labels in (1, 3):
        found = values(rows, labels)
        assert found["count.recall"] == found["count.strict"] == found["count.objects"] == found["count.extras"] == 0
        assert found["count.precision"] is None
        assert found["count.off"] is None
    assert values(rows, 1)["count.chance"] is None  # there is no other layout of one object
    assert values(rows, 3)["count.chance"] == 0
    nothing = count_rows(FINDER.find(empty), places, torch.zeros_like(present), CELL)
    assert values(nothing, 0)["count.recall"] is None
    assert values(nothing, 0)["count.strict"] == 1


def test_images_of_another_layout_do_no_better_than_chance() -> None:
    factors = drawn([4] * 200)
    places, present = WORLD.centres(factors)
    found = FINDER.find(WORLD.render(factors))
    right, wrong = (values(count_rows(found, p, present, CELL), 4) for p in (places, places.roll(100, 0)))
    assert right["count.recall"] == 1
    assert wrong["count.recall"] == pytest.approx(right["count.chance"], abs=0.05)
    assert 0.05 < right["count.chance"] < 0.3


def test_a_crowd_has_every_label_and_chance_says_so() -> None:
    axis = torch.arange(1.0, 32, 2)
    crowd = torch.cartesian_prod(axis, axis).expand(8, -1, -1)
    places, present = WORLD.centres(drawn([3] * 8))
    found = values(count_rows(found_at(crowd), places, present, CELL), 3)
    assert found["count.recall"] == found["count.chance"] == 1
    assert found["count.extras"] == 253


def random_case(seed: int, labels: int, things: int, spread: float) -> tuple[Tensor, Tensor]:
    key = seeds.keys(seed, "pairs", torch.arange(2))
    drawn = seeds.uniform(key, (max(labels, things), 2)).double() * spread
    return drawn[0, :labels], drawn[1, :things]


@pytest.mark.parametrize("seed", range(60))
def test_pairs_against_the_best_assignment(seed: int) -> None:
    """Nearest first is never better than the best assignment, never worse than half of it, and never over reach."""
    labels, things = 1 + seed % 7, 1 + seed * 5 % 9
    asked, places = random_case(seed, labels, things, 12.0)
    partner = pair(found_at(places[None]), asked[None], torch.ones(1, labels, dtype=torch.bool), 3.0)[0]
    distance = torch.cdist(asked, places)
    drawn = partner >= 0
    assert (distance[drawn, partner[drawn]] <= 3.0).all()
    assert len(set(partner[drawn].tolist())) == int(drawn.sum())  # one to one
    near = (distance <= 3.0).double()
    best = int(near[linear_sum_assignment(near, maximize=True)].sum())
    assert best / 2 <= int(drawn.sum()) <= best
    if bool((near.sum(0) <= 1).all()) and bool((near.sum(1) <= 1).all()):  # nothing is in doubt
        assert int(drawn.sum()) == best
    assert partner.tolist() == nearest_first(distance, 3.0)


def nearest_first(distance: Tensor, reach: float) -> list[int]:
    """The same by sorting all pairs."""
    partner, taken = [-1] * distance.shape[0], set[int]()
    for label, thing in sorted(product(*map(range, distance.shape)), key=lambda p: distance[p].item()):
        if distance[label, thing] <= reach and partner[label] < 0 and thing not in taken:
            partner[label] = thing
            taken.add(thing)
    return partner


@pytest.mark.parametrize("seed", range(20))
def test_labels_far_from_each_other_are_paired_as_the_best_assignment_does(seed: int) -> None:
    """Farther from each other than twice the reach, each thing has one possible label, and the cheapest pairs win."""
    labels = torch.cartesian_prod(torch.arange(3.0), torch.arange(3.0)).double() * 7
    _, things = random_case(seed, 1, 12, 16.0)
    partner = pair(found_at(things[None]), labels[None], torch.ones(1, 9, dtype=torch.bool), 3.0)[0]
    distance = torch.cdist(labels, things)
    rows, columns = linear_sum_assignment(torch.where(distance <= 3.0, distance, 1e3))
    right = {(r, c) for r, c in zip(rows, columns, strict=True) if distance[r, c] <= 3.0}
    assert {(r, int(c)) for r, c in enumerate(partner) if c >= 0} == right


def test_images_are_paired_by_themselves_and_padding_is_never_paired() -> None:
    cases = [random_case(seed, 6, 8, 14.0) for seed in range(30)]
    asked, places = (torch.stack(part) for part in zip(*cases, strict=True))
    labelled = seeds.uniform(seeds.keys(0, "labelled", torch.arange(30)), (6,)) < 0.7
    there = seeds.uniform(seeds.keys(0, "there", torch.arange(30)), (8,)) < 0.7
    together = pair(found_at(places, there), asked, labelled, 4.0)
    alone = [
        pair(found_at(places[i : i + 1], there[i : i + 1]), asked[i : i + 1], labelled[i : i + 1], 4.0)
        for i in range(30)
    ]
    assert torch.equal(together, torch.cat(alone))
    image, label = torch.nonzero(together >= 0, as_tuple=True)
    assert labelled[image, label].all()
    assert there[image, together[image, label]].all()


@pytest.mark.parametrize(("labels", "things"), [(0, 3), (3, 0), (0, 0)])
def test_nothing_asked_or_nothing_found(labels: int, things: int) -> None:
    counted = count(found_at(torch.zeros(2, things, 2)), torch.zeros(2, labels, 2), torch.ones(2, labels).bool(), CELL)
    assert counted.drawn.shape == counted.off.shape == (2, labels)
    assert not counted.drawn.any()
    assert counted.extras.tolist() == [things] * 2
    assert counted.strict.tolist() == [labels == 0] * 2


def test_reach_is_in_cells() -> None:
    places, labelled = torch.tensor([[[10.0, 10.0]]]), torch.ones(1, 1, dtype=torch.bool)
    for cell, near, away, drawn in (
        (2.0, NEAR, 2.9, True),
        (2.0, NEAR, 3.1, False),
        (4.0, NEAR, 5.9, True),
        (2.0, 1.0, 2.1, False),
    ):
        counted = count(found_at(places + torch.tensor([away, 0.0])), places, labelled, cell, near)
        assert counted.strict.tolist() == [drawn]


@pytest.mark.parametrize(
    ("curve", "steady", "anywhere"),
    [
        ([1, 1, 0.95, 0.9, 0.89, 0.5], 4, 4),
        ([1, 1, 0.8, 0.95, 0.2], 2, 4),
        ([0.5, 1.0, 1.0], 0, 3),
        ([0.1, 0.2], 0, 0),
        ([1.0] * 12, 12, 12),
        ([0.9 - 1e-12, 0.3 * 3], 2, 2),  # rounding is no failure
    ],
)
def test_k_max_of_known_curves(curve: list[float], steady: int, anywhere: int) -> None:
    shuffled = dict(reversed(list(enumerate(curve, start=1))))
    found = k_max(shuffled)
    assert (found.steady, found.anywhere) == (steady, anywhere)
    assert list(found.curve.items()) == list(enumerate(map(float, curve), start=1))


def test_k_max_of_a_coarse_curve_and_another_least() -> None:
    curve = {1: 1.0, 3: 0.95, 6: 0.85, 9: 0.9}
    assert LEAST == 0.9
    assert (k_max(curve).steady, k_max(curve).anywhere) == (3, 9)
    assert k_max(curve, least=0.8).steady == 9


def test_recall_curve_of_rows() -> None:
    rows = count_rows(
        found_at(torch.zeros(3, 1, 2)), torch.zeros(3, 2, 2), torch.tensor([[0, 0], [1, 0], [1, 1]]) > 0, CELL
    )
    assert recall_curve(rows) == {1: 1.0, 2: 0.5}
    with pytest.raises(UserError, match="of K = 1 is there twice: choose one arm, one seed and one milestone"):
        recall_curve(rows + rows)


@pytest.mark.parametrize(
    ("curve", "complaint"),
    [
        ({}, "K_max of no curve: give the recall of at least one number of labels"),
        ({0: 1.0}, "a recall of 1 at K = 0: give shares from 0 to 1, of K from 1 on"),
        ({1: float("nan")}, "a recall of nan at K = 1"),
        ({2: 1.5}, "a recall of 1.5 at K = 2"),
    ],
)
def test_bad_curves(curve: dict[int, float], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as caught:
        k_max(curve)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("places", "labelled", "cell", "complaint"),
    [
        (
            torch.zeros(3, 1, 2),
            torch.ones(3, 1),
            2.0,
            r"\(3, 1, 2\), labelled \(3, 1\), for 2 images: give \[2, A, 2\]",
        ),
        (torch.zeros(2, 1, 2), torch.ones(2, 4), 2.0, r"labelled \(2, 4\)"),
        (torch.zeros(2, 2), torch.ones(2, 2), 2.0, r"labels at places \(2, 2\)"),
        (torch.full((2, 1, 2), torch.nan), torch.ones(2, 1), 2.0, "a label has no place"),
        (torch.zeros(2, 1, 2), torch.ones(2, 1), 0.0, "a cell of 0 px and a reach of 1.5 cells: both must be above 0"),
    ],
)
def test_bad_labels(places: Tensor, labelled: Tensor, cell: float, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as caught:
        count(found_at(torch.zeros(2, 1, 2)), places, labelled.bool(), cell)
    assert "\n" not in str(caught.value)
