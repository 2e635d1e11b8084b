"""Concept space: learning times and paths by hand, verdicts on known tables, and worlds that can be read."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest

from recombine.instruments.shapes.reader import calibrate_reader
from recombine.lab.claims import NotMeasured, judge_all
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_space.speed.claims import CLAIMS as SPEED
from recombine.studies.concept_space.speed.claims import learning_times
from recombine.studies.concept_space.trajectories import experiment as trajectories
from recombine.studies.concept_space.trajectories.claims import CLAIMS as TRAJECTORIES
from recombine.studies.concept_space.trajectories.claims import bend, path
from recombine.worlds.shapes import ShapesWorld
from support import tables

SPEED_RUNS, TRAJECTORY_RUNS = (EXPERIMENTS[f"concept-space/{name}"] for name in ("speed", "trajectories"))

NODES = tables.nodes_of(2)
GRID = (0, *(100 * 2**i for i in range(9)))  # up to 25,600 images
GRID_ARMS = tuple(f"c{color:g}-s{size:g}" for color in (0.2, 0.4, 0.8) for size in (0.2, 0.4))

PAIRS = {f"c{color:g}-s{size:g}": (color, size) for color in (0.2, 0.4, 0.6, 0.8) for size in (0.2, 0.3, 0.4)}
COLUMNS = SPEED_RUNS.columns

Time = Callable[[str, float, float, int], float]
"""Concept, D_c, D_s and seed -> images seen when it is learned in the held-out class."""


def speed_table(time: Time, seeds: Iterable[int] = range(5), arms: Iterable[str] = GRID_ARMS) -> pl.DataFrame:
    """A concept of 11 is right from then on; those of the trained classes from the first evaluation."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        return {
            ("reader.accuracy", concept): 0.95 if node != "11" or seen >= time(concept, *PAIRS[arm], seed) else 0.1
            for concept in ("color", "size")
        }

    return tables.table_of(readings, arms, NODES, GRID, seeds, of_arm=of_arm, columns=COLUMNS)


def of_arm(arm: str) -> dict[str, float]:
    return dict(zip(("color_separation", "size_separation"), PAIRS.get(arm, ()), strict=False))


def as_in_the_paper(concept: str, color: float, size: float, seed: int) -> float:
    """Colour: 16 times faster in three steps, slower by two with strong sizes; size: twice as fast when strong."""
    if concept == "color":
        return {0.2: 3200, 0.4: 1600, 0.8: 800}[color] * (2 if size == 0.4 else 1)
    return {0.2: 1600, 0.4: 800}[size]


def backwards(concept: str, color: float, size: float, seed: int) -> float:
    """The slower in the paper, the faster."""
    return 51_200 / as_in_the_paper(concept, color, size, seed) * 100


def judge(claim: str, table: pl.DataFrame) -> dict[str, Any]:
    return tables.judge((*SPEED, *TRAJECTORIES), claim, table)


# Learning times


def test_among_images_with_an_object_only_those_count() -> None:
    """Half of the images are empty: a colour that is right in 0.45 of all is right in 0.9 of the others."""
    readings: dict[Any, tuple[float, ...]] = {
        ("reader.accuracy", "color"): (0.3, 0.45, 0.45, 0.45),
        "reader.none": (0.5, 0.4, 0.5, 0.5),
        "reader.several": (0.1,) + 3 * (0.0,),
    }
    table = tables.table_of(
        lambda arm, seed, node, seen: {name: values[seen // 100 - 1] for name, values in readings.items()},
        ["c0.2-s0.2"], ["11"], (100, 200, 300, 400), [0], of_arm=of_arm, columns=COLUMNS,
    )  # fmt: skip
    assert learning_times(table, "color") == {(0.2, 0.2): {0: math.inf}}
    assert learning_times(table, "color", objects=True) == {(0.2, 0.2): {0: 300.0}}  # 0.75, 0.75, 0.9, 0.9
    with pytest.raises(NotMeasured, match="hold an object"):
        learning_times(table.filter(pl.col("instrument") != "reader.none"), "color", objects=True)


def test_learning_times_by_hand() -> None:
    times = learning_times(speed_table(as_in_the_paper), "color")
    assert set(times) == {PAIRS[arm] for arm in GRID_ARMS}
    assert times[0.2, 0.4] == dict.fromkeys(range(5), 6400.0)
    assert times[0.8, 0.2] == dict.fromkeys(range(5), 800.0)
    assert learning_times(speed_table(as_in_the_paper), "size")[0.2, 0.2][3] == 1600.0


def test_what_is_not_learned_has_no_time() -> None:
    table = speed_table(lambda concept, color, size, seed: math.inf if seed == 1 else 400)
    assert learning_times(table, "color")[0.4, 0.4] == {0: 400.0, 1: math.inf, 2: 400.0, 3: 400.0, 4: 400.0}


def test_a_concept_that_touches_the_level_once_is_not_learned_then() -> None:
    table = speed_table(as_in_the_paper, seeds=(0,), arms=("c0.2-s0.2",))
    touched = table.with_columns(
        value=pl.when((pl.col("images_seen") == 200) & (pl.col("concept") == "color")).then(1.0).otherwise("value")
    )
    assert learning_times(touched, "color") == {(0.2, 0.2): {0: 3200.0}}


def test_only_the_held_out_class_counts_and_what_is_missing_is_said() -> None:
    table = speed_table(as_in_the_paper)
    with pytest.raises(NotMeasured, match="color of 11 was not measured"):
        learning_times(table.filter(pl.col("node") != "11"), "color")
    with pytest.raises(NotMeasured, match="shape of 11 was not measured"):
        learning_times(table, "shape")


# P1, P2, P3: ratios of times


@pytest.mark.parametrize(("claim", "ratio"), [("P1", 4.0), ("P2", 2.0), ("P3", 1.0)])
def test_ratios_of_times_as_known_hold(claim: str, ratio: float) -> None:
    """Colour at D_s = 0.4: 6,400 over 1,600. Size at D_c = 0.8: 1,600 over 800. At D_c = 0.2: log2 of 6,400 / 3,200."""
    answer = judge(claim, speed_table(as_in_the_paper))
    assert answer["estimate"] == pytest.approx(ratio)
    assert answer["interval"] == pytest.approx([ratio, ratio])
    assert (answer["verdict"], answer["n"]) == ("holds", 5)
    assert judge(claim, speed_table(as_in_the_paper, range(4)))["verdict"] == "undecided"


def test_notes_say_the_two_times() -> None:
    assert judge("P1", speed_table(as_in_the_paper))["note"] == "median images: 6,400 and 1,600"
    assert judge("P2", speed_table(as_in_the_paper))["note"] == "median images: 1,600 and 800"
    assert judge("P3", speed_table(as_in_the_paper))["note"] == "median images: 6,400 and 3,200"


@pytest.mark.parametrize("claim", ["P1", "P2", "P3"])
def test_signals_that_make_no_difference_fail(claim: str) -> None:
    answer = judge(claim, speed_table(lambda concept, color, size, seed: 800))
    assert answer["estimate"] == (0.0 if claim == "P3" else 1.0)
    assert (answer["verdict"], answer["n"]) == ("fails", 5)


@pytest.mark.parametrize(("claim", "swapped"), [("P1", 1 / 4), ("P2", 1 / 2), ("P3", -1.0)])
def test_the_other_way_round_fails(claim: str, swapped: float) -> None:
    answer = judge(claim, speed_table(backwards))
    assert answer["estimate"] == pytest.approx(swapped)
    assert answer["verdict"] == "fails"


def test_a_ratio_beyond_the_papers_range_fails() -> None:
    answer = judge("P1", speed_table(lambda concept, color, size, seed: 12_800 if color == 0.2 else 100))
    assert (answer["verdict"], answer["estimate"]) == ("fails", 128.0)


@pytest.mark.parametrize("claim", ["P1", "P2", "P3"])
def test_ratios_on_both_sides_decide_nothing(claim: str) -> None:
    """In the odd seeds it is the other way round."""
    table = speed_table(lambda *place: (as_in_the_paper, backwards)[place[-1] % 2](*place), range(6))
    answer = judge(claim, table)
    assert answer["verdict"] == "undecided"
    assert answer["interval"][0] < {"P1": 2.5, "P2": 1.1, "P3": 0.0}[claim] < answer["interval"][1]


@pytest.mark.parametrize("claim", ["P1", "P2", "P3"])
def test_seeds_are_paired_and_one_that_lacks_an_arm_is_left_out(claim: str) -> None:
    """Later seeds are slower in every arm; the ratio within each is the same."""
    table = speed_table(lambda concept, c, s, seed: as_in_the_paper(concept, c, s, seed) * 2 ** (seed % 2), range(6))
    whole = judge(claim, table)
    assert whole["interval"] == pytest.approx([whole["estimate"]] * 2)
    lacking = table.filter((pl.col("seed") != 2) | ~pl.col("arm").is_in(["c0.2-s0.2", "c0.8-s0.4"]))
    assert (judge(claim, lacking)["n"], judge(claim, lacking)["verdict"]) == (5, "holds")


@pytest.mark.parametrize(("claim", "arm"), [("P1", "c0.2-s0.4"), ("P1", "c0.8-s0.4"), ("P2", "c0.8-s0.2")])
def test_separations_that_were_not_run_are_undecided(claim: str, arm: str) -> None:
    table = tables.without(speed_table(as_in_the_paper), arm=arm)
    assert tables.undecided(judge(claim, table), "needs separations")


def test_a_single_size_shows_no_competition() -> None:
    """With one separation of sizes there is nothing to compare: not a ratio of one."""
    table = speed_table(as_in_the_paper, arms=("c0.4-s0.4", "c0.8-s0.4"))
    assert tables.undecided(judge("P3", table))


# P1m: the trend


def test_a_time_that_falls_with_every_step_holds() -> None:
    answer = judge("P1m", speed_table(as_in_the_paper))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("holds", 1.0, 5)
    assert judge("P1m", speed_table(as_in_the_paper, range(4)))["verdict"] == "undecided"


def test_one_step_up_in_one_seed_fails() -> None:
    def times(concept: str, color: float, size: float, seed: int) -> float:
        return 12_800 if (seed, color) == (3, 0.4) else as_in_the_paper(concept, color, size, seed)

    answer = judge("P1m", speed_table(times))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == ("fails", 0.8, 5)


def test_the_trend_is_of_the_mean_over_the_other_separation() -> None:
    """With weak sizes colour is a little slower from 0.2 to 0.4, with strong sizes much faster."""

    def times(concept: str, color: float, size: float, seed: int) -> float:
        return {(0.2, 0.2): 400, (0.4, 0.2): 800, (0.2, 0.4): 6400, (0.4, 0.4): 1600}.get((color, size), 100)

    assert judge("P1m", speed_table(times))["verdict"] == "holds"


def test_a_single_separation_has_no_trend() -> None:
    table = speed_table(as_in_the_paper, arms=("c0.2-s0.2", "c0.2-s0.4"))
    assert tables.undecided(judge("P1m", table), "a single separation of color")


# P7 and P7r: real images

JUDGES = {"P7r": "reader", "P7": "classifier"}


def real(lowest: Callable[[int], float], judge_name: str = "reader", seeds: Iterable[int] = range(5)) -> pl.DataFrame:
    """One class and concept of each seed is answered at this accuracy, all others rightly."""
    accuracy = f"{judge_name}.accuracy"
    parts = []
    for seed in seeds:
        values: dict[str, dict[Any, float]] = {
            node: {(accuracy, "color"): 1.0, (accuracy, "size"): 1.0} for node in NODES
        }
        values["01"] |= {(accuracy, "size"): lowest(seed)}
        values["blank"] = {(f"{judge_name}.answer", "color", "red"): 0.3, f"{judge_name}.none": 0.2}
        parts.append(tables.calibration(values, ("c0.2-s0.4", "c0.8-s0.4"), (seed,), columns=COLUMNS))
    return pl.concat(parts)


@pytest.mark.parametrize("claim", JUDGES)
@pytest.mark.parametrize(("lowest", "verdict"), [(1.0, "holds"), (0.9, "fails")])
def test_the_lowest_accuracy_on_real_images(claim: str, lowest: float, verdict: str) -> None:
    answer = judge(claim, real(lambda seed: lowest, JUDGES[claim]))
    assert (answer["verdict"], answer["estimate"], answer["n"]) == (verdict, lowest, 5)


@pytest.mark.parametrize("claim", JUDGES)
def test_each_judge_is_asked_about_itself(claim: str) -> None:
    (other,) = (name for name in JUDGES.values() if name != JUDGES[claim])
    both = pl.concat([real(lambda seed: 1.0, other), real(lambda seed: 0.5, JUDGES[claim])])
    assert judge(claim, both)["estimate"] == 0.5


@pytest.mark.parametrize("claim", JUDGES)
def test_a_single_seed_that_is_misread_is_seen(claim: str) -> None:
    answer = judge(claim, real(lambda seed: 0.9 if seed == 4 else 1.0, JUDGES[claim]))
    assert answer["estimate"] == pytest.approx(0.98)
    assert answer["verdict"] != "holds"
    assert judge(claim, real(lambda seed: 1.0, JUDGES[claim], range(4)))["verdict"] == "undecided"


@pytest.mark.parametrize("claim", JUDGES)
def test_a_judge_that_was_not_checked_is_undecided(claim: str) -> None:
    assert tables.undecided(judge(claim, speed_table(as_in_the_paper)), "was not measured on real images")


# Paths


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ([(0.1, 0.1), (0.5, 0.5), (0.9, 0.9)], 0.0),  # straight along the diagonal
        ([(0.0, 0.0), (0.0, 0.6), (0.0, 1.0), (0.5, 1.0), (1.0, 1.0)], (0 + 0.6 + 1 + 0.5) / 4),  # by small red
        ([(0.0, 0.0), (0.6, 0.0), (1.0, 0.0), (1.0, 0.5), (1.0, 1.0)], -(0 + 0.6 + 1 + 0.5) / 4),  # by large blue
        ([(0.9, 0.9), (0.0, 1.0)], 0.0),  # there at once; what comes after does not count
        ([(0.0, 0.5), (0.8, 0.8), (0.0, 1.0)], 0.5),
        ([(0.0, 0.9), (0.2, 0.9)], 0.8),  # never there: all of it counts
    ],
)
def test_bends_by_hand(way: list[tuple[float, float]], expected: float) -> None:
    assert bend(np.array(way)) == pytest.approx(expected)


def ways_table(
    ways: Callable[[str, int], list[tuple[float, float]]],
    seeds: Iterable[int] = range(5),
    arms: Iterable[str] = ("weak", "middling", "strong"),
) -> pl.DataFrame:
    """Arm and seed -> the way of 11; the trained classes stay in their corners."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        corner = (float(node[0]), float(node[1]))
        blue, small = ways(arm, seed)[GRID.index(seen)] if node == "11" else corner
        return {
            ("classifier.answer", "color", "red"): 1 - blue,
            ("classifier.answer", "color", "blue"): blue,
            ("classifier.answer", "size", "large"): 1 - small,
            ("classifier.answer", "size", "small"): small,
        }

    return tables.table_of(readings, arms, NODES, GRID[: len(ways("weak", 0))], seeds, columns=COLUMNS)


def swings(arm: str, seed: int) -> list[tuple[float, float]]:
    """By small red with weak colour, by large blue with strong, straight in between."""
    small_red = [(0.0, 0.0), (0.0, 1.0), (0.5, 1.0), (1.0, 1.0)]
    straight = [(0.0, 0.0), (0.3, 0.3), (0.6, 0.6), (1.0, 1.0)]
    return {"weak": small_red, "middling": straight, "strong": [(y, x) for x, y in small_red]}[arm]


def test_a_path_is_blue_across_and_small_up() -> None:
    found = path(ways_table(swings, range(2)), "weak", "11")
    assert {seed: way.tolist() for seed, way in found.items()} == {
        seed: [list(point) for point in swings("weak", seed)] for seed in range(2)
    }
    assert path(ways_table(swings), "weak", "01")[0].tolist() == [[0.0, 1.0]] * 4
    assert path(ways_table(swings), "none", "11") == {}


@pytest.mark.parametrize(("claim", "estimate"), [("P4", 0.5), ("P4b", -0.5)])
def test_paths_that_bend_as_known_hold(claim: str, estimate: float) -> None:
    answer = judge(claim, ways_table(swings))
    assert answer["estimate"] == pytest.approx(estimate)
    assert (answer["verdict"], answer["n"]) == ("holds", 5)
    assert judge(claim, ways_table(swings, range(4)))["verdict"] == "undecided"


@pytest.mark.parametrize("claim", ["P4", "P4b"])
def test_straight_and_contrary_paths_fail(claim: str) -> None:
    straight = judge(claim, ways_table(lambda arm, seed: swings("middling", seed)))
    assert (straight["verdict"], straight["estimate"]) == ("fails", 0.0)
    contrary = {"weak": "strong", "middling": "middling", "strong": "weak"}
    assert judge(claim, ways_table(lambda arm, seed: swings(contrary[arm], seed)))["verdict"] == "fails"


@pytest.mark.parametrize("claim", ["P4", "P4b"])
def test_paths_that_bend_both_ways_decide_nothing(claim: str) -> None:
    answer = judge(claim, ways_table(lambda arm, seed: swings(("weak", "strong")[seed % 2], seed), range(6)))
    assert answer["verdict"] == "undecided"
    assert answer["interval"][0] < 0 < answer["interval"][1]


@pytest.mark.parametrize(("claim", "arm"), [("P4", "weak"), ("P4b", "strong")])
@pytest.mark.parametrize("missing", ["blue", "small"])
def test_a_path_that_was_not_measured_is_undecided(claim: str, arm: str, missing: str) -> None:
    table = ways_table(swings)
    assert tables.undecided(judge(claim, tables.without(table, arm=arm)), f"path of 11 in arm {arm} was not measured")
    assert tables.undecided(judge(claim, table.filter(pl.col("answer") != missing)), "was not measured")


@pytest.mark.parametrize("claims", [SPEED, TRAJECTORIES], ids=["speed", "trajectories"])
def test_an_empty_table_decides_nothing(claims: Any) -> None:
    for answer in judge_all(claims, make_table([], COLUMNS), "s", "e", "smoke"):
        assert tables.undecided(answer)


# Arms


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_arms_carry_the_separations_of_their_names(budget: str) -> None:
    for arm, config in tables.runs_of(SPEED_RUNS, budget).items():
        world = config.world.model_dump()
        assert (world["color_separation"], world["size_separation"]) == PAIRS[arm]
        config.check()
    for arm, config in tables.runs_of(TRAJECTORY_RUNS, budget).items():
        world = config.world.model_dump()
        assert (world["color_separation"], world["size_separation"]) == (trajectories.SIGNALS[arm], 0.3)
        assert config.evaluation.classifier is not None
        config.check()
    assert list(trajectories.SIGNALS) == sorted(trajectories.SIGNALS, key=trajectories.SIGNALS.__getitem__)
    assert list(trajectories.SIGNALS) == ["weak", "middling", "strong"]


def test_the_claims_find_their_separations_at_full_size() -> None:
    arms = {PAIRS[arm] for arm in tables.runs_of(SPEED_RUNS, "full")}
    assert arms == {(color, size) for color in (0.2, 0.4, 0.6, 0.8) for size in (0.2, 0.3, 0.4)}
    assert {(0.2, 0.4), (0.8, 0.4), (0.8, 0.2), (0.2, 0.2)} <= arms
    assert {(0.2, 0.4), (0.8, 0.4), (0.8, 0.2)} <= {PAIRS[arm] for arm in tables.runs_of(SPEED_RUNS, "laptop")}


def worlds(budget: str) -> dict[str, ShapesWorld]:
    runs = tables.runs_of(SPEED_RUNS, budget) | tables.runs_of(TRAJECTORY_RUNS, budget)
    return {arm: config.world for arm, config in runs.items() if isinstance(config.world, ShapesWorld)}


@pytest.mark.parametrize("budget", ["laptop", "full"])
def test_the_reader_is_right_on_real_images_of_every_arm(budget: str) -> None:
    for arm, world in worlds(budget).items():
        for row in calibrate_reader(world, per_node=50, seed=0):
            if row.get("node") in NODES:
                assert row["value"] == 1.0, (arm, row)
            if row["instrument"] == "calibration.reader.none" and row.get("canvas") == "blank":
                assert row["value"] == 1.0, arm


def test_there_is_a_world_for_every_arm() -> None:
    assert [len(worlds(budget)) for budget in ("laptop", "full")] == [4 + 2, 12 + 3]
