"""The figures of the concept-graphs experiments: from plausible tables, from one seed, and from what is lacking."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from recombine.lab.experiment import Experiment
from recombine.lab.report.kit.style import DISTANCE_COLORS
from recombine.lab.table import make_table
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.adversarial import experiment as adversarial
from recombine.studies.concept_graphs.adversarial.claims import TRAINED
from recombine.studies.concept_graphs.frequency.claims import ITSELF, LEVEL
from recombine.studies.concept_graphs.signal import experiment as signal
from recombine.studies.concept_graphs.toy import experiment as toy
from support import tables
from support.pictures import heights, legend, render, words

GRID = tuple(round(2_000 * 1.9**i) for i in range(8))
VALUES = {"shape": ("circle", "triangle"), "color": ("red", "blue"), "size": ("large", "small")}


def learned(seen: float, at: float, seed: int, low: float = 0.0, high: float = 0.97, steep: float = 4.0) -> float:
    """A smooth rise from low to high, halfway at so many images; later seeds are a little later."""
    late = at * (1 + 0.12 * (seed - 2))
    return float(low + (high - low) / (1 + (late / max(seen, 1)) ** steep))


def adversarial_table(seeds: int) -> pl.DataFrame:
    """Small circles come out as triangles; fine-tuning alone forgets, mixing keeps."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        new, alone = arm.removesuffix("-mixed"), not arm.endswith("-mixed")
        shares: dict[Any, float] = {}
        for place, (concept, values) in enumerate(VALUES.items()):
            asked = int(node[place])
            wrong = 0.8 if node in ("001", "011") and concept == "shape" else 0.1 if node in TRAINED else 0.35
            right = 0.93 - wrong + 0.01 * seed
            shares |= {
                ("reader.answer", concept, values[asked]): right,
                ("reader.answer", concept, values[1 - asked]): wrong,
            }
        if arm == adversarial.BASE:
            accuracy = learned(seen, 15_000, seed) if node in TRAINED else 0.1
        elif node == new:
            accuracy = learned(seen, 5_000, seed)
        elif node in TRAINED:
            accuracy = 0.96 - learned(seen, 8_000, seed, high=0.9) if alone else 0.94
        else:
            accuracy = 0.12 + 0.02 * seed
        return {"reader.product": accuracy, **shares}

    def far(node: str) -> int:
        return 0 if node in TRAINED else 1

    arms = (adversarial.BASE, *(f"{new}{mark}" for new in adversarial.CLASSES for mark in ("", "-mixed")))
    return rows_for("adversarial", readings, arms, tables.nodes_of(3), GRID, range(seeds), distance=far)


def signal_table(seeds: int) -> pl.DataFrame:
    """In every arm another concept of 111 is last."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        times = {"shape": 60_000, "color": 25_000, "size": 12_000}
        times |= {"weak-color": {"color": 140_000}, "weak-size": {"size": 120_000}}.get(arm, {})
        return {("reader.accuracy", concept): learned(seen, at, seed, 0.45) for concept, at in times.items()}

    return rows_for("signal", readings, signal.ARMS, tables.nodes_of(3), GRID, range(seeds))


def frequency_table(seeds: int) -> pl.DataFrame:
    """Colour needs about ten images, shape about thirty, unseen classes more; fixed frequencies a little fewer."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        concept, number, *even = arm.split("-")
        at = {"color": 6, "shape": 20}[concept] * (1 if node in ITSELF[concept] else 3 if node != "111" else 8)
        return {("reader.accuracy", concept): learned(int(number), at / (2 if even else 1), seed, 0.04, steep=2.0)}

    arms = tables.runs_of(EXPERIMENTS["concept-graphs/frequency"], "full")
    return rows_for("frequency", readings, arms, tables.nodes_of(3), (60_000, 120_000), range(seeds))


def blank_table(seeds: int) -> pl.DataFrame:
    """With a joint embedding all that the probes call right is empty; elsewhere a part of it, early."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        probe = learned(seen, 12_000, seed, 0.05)
        right = 0.0 if arm == "joint" else learned(seen, 60_000, seed)
        rest = max(0.0, probe - right)
        shares = (
            {"none": 0.9, "several": 0.02, "other": 0.08}
            if arm == "joint"
            else {"none": 0.3, "several": 0.1, "other": 0.6}
        )
        return {
            "probe.product": probe,
            "reader.product": min(right, probe),
            **{f"probe.product.{kind}": share * rest for kind, share in shares.items()},
        }

    chances = {"blank": (0.97, 0.62, 0.999), "noise": (0.55, 0.48, 0.3), "mean": (0.6, 0.52, 0.2)}
    parts = [tables.table_of(readings, ("continuous", "binary", "joint"), tables.nodes_of(3), GRID, range(seeds))]
    for seed in range(seeds):
        answers = {
            canvas: {
                ("probe.answer", concept, value): chance - 0.01 * seed if place else 1 - chance + 0.01 * seed
                for (concept, values), chance in zip(VALUES.items(), second, strict=True)
                for place, value in enumerate(values)
            }
            for canvas, second in chances.items()
        }
        parts.append(tables.calibration(answers, ("continuous", "binary", "joint"), (seed,)))
    return pl.concat(parts)


def conditioning_table(seeds: int) -> pl.DataFrame:
    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        conditions, entry, *plain = arm.split("-")
        ease = {"continuous": 1.0, "binary": 0.7, "masked": 0.85}[conditions]
        ease *= {"sum": 1.0, "added": 0.85, "joint": 0.15}[entry] * (0.93 if plain else 1.0)
        level = (0.97, 0.8 * ease, 0.5 * ease**2)[tables.from_origin(node)]
        return {"reader.product": max(0.0, level + 0.015 * (seed - 2)), "reader.none": 0.02}

    arms = tables.runs_of(EXPERIMENTS["concept-graphs/conditioning"], "full")
    return rows_for("conditioning", readings, arms, tables.nodes_of(3), (60_000, 120_000), range(seeds))


def faces_table(seeds: int) -> pl.DataFrame:
    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        at = (15_000, 40_000, 90_000)[tables.from_origin(node)]
        return {
            "classifier.product": learned(seen, at, seed, 0.08, 0.8, steep=2.0),
            ("classifier.accuracy", "gender"): learned(
                seen, 8_000 if node[0] == "0" else 25_000, seed, 0.5, 0.96, steep=2.0
            ),
        }

    return rows_for("faces", readings, ("continuous",), tables.nodes_of(3), GRID, range(seeds))


def toy_table(seeds: int) -> pl.DataFrame:
    config = toy.ToyConfig(trials=1_000)
    rows = [(seed, row) for seed in range(seeds) for row in config.replace(seeds={"data": seed}).rows()]
    heads = [{"arm": "toy", "seed": seed, "chance": config.chance, **row} for seed, row in rows]
    return make_table(heads, EXPERIMENTS["concept-graphs/toy"].columns)


def rows_for(name: str, readings: tables.Readings, *place: Any, **how: Any) -> pl.DataFrame:
    """A table of an experiment, with the columns of its arms."""
    experiment = EXPERIMENTS[f"concept-graphs/{name}"]
    shared = experiment.arm_columns(experiment.budgets["full"].arms)
    return tables.table_of(readings, *place, of_arm=lambda arm: shared.get(arm, {}), columns=experiment.columns, **how)


@dataclass(frozen=True)
class Case:
    """An experiment, a plausible table of so many seeds, and instruments whose absence a figure has to admit."""

    experiment: Experiment
    table: Callable[[int], pl.DataFrame]
    shown: tuple[str, ...]

    def draw(self, table: pl.DataFrame) -> dict[str, Figure]:
        (config, *_) = self.experiment.budgets["full"].arms.values()
        return {name: drawing.figure for name, drawing in self.experiment.draw(table, config).items()}


def case(name: str, table: Callable[[int], pl.DataFrame], shown: tuple[str, ...]) -> Case:
    return Case(EXPERIMENTS[f"concept-graphs/{name}"], table, shown)


CASES = {
    "adversarial": Case(
        EXPERIMENTS["concept-graphs/adversarial"], adversarial_table, ("reader.answer", "reader.product")
    ),
    "signal": case("signal", signal_table, ("reader.accuracy",)),
    "frequency": case("frequency", frequency_table, ("reader.accuracy",)),
    "blank": Case(
        EXPERIMENTS["concept-graphs/blank"],
        blank_table,
        ("probe.product", "probe.product.none", "calibration.probe.answer"),
    ),
    "conditioning": case("conditioning", conditioning_table, ("reader.product",)),
    "toy": case("toy", toy_table, ("probability", "time")),
    "faces": case("faces", faces_table, ("classifier.product", "classifier.accuracy")),
}


@cache
def plausible(name: str) -> dict[str, Figure]:
    """The figures of an experiment of five seeds, drawn once."""
    return CASES[name].draw(CASES[name].table(5))


@pytest.mark.parametrize("name", CASES)
def test_a_plausible_table_is_drawn_whole(name: str) -> None:
    for figure in plausible(name).values():
        assert "not measured" not in words(figure)
        assert "n = 5" in " ".join(words(figure).split())
        assert len(render(figure)) > 1_000


@pytest.mark.parametrize("name", CASES)
def test_one_seed_is_drawn_and_counted(name: str) -> None:
    for figure in CASES[name].draw(CASES[name].table(1)).values():
        assert "n = 1" in " ".join(words(figure).split())


@pytest.mark.parametrize("name", CASES)
def test_an_empty_table_gives_figures_that_say_so(name: str) -> None:
    for figure in CASES[name].draw(make_table([], CASES[name].experiment.columns)).values():
        assert "not measured" in words(figure)
        render(figure)


@pytest.mark.parametrize(("name", "missing"), [(name, i) for name, case in CASES.items() for i in case.shown])
def test_an_instrument_that_is_missing_is_said(name: str, missing: str) -> None:
    table = CASES[name].table(2)
    figures = CASES[name].draw(table.filter(~pl.col("instrument").str.starts_with(missing)))
    assert any("not measured" in words(figure) for figure in figures.values())


# What each figure shows


def panel(figure: Figure, title: str) -> Axes:
    """The panel whose title holds these words."""
    (found,) = (axes for axes in figure.axes if title in axes.get_title(loc="left"))
    return found


def thick(axes: Axes, width: float = 3.0) -> list[list[float]]:
    return [heights(line).tolist() for line in axes.lines if line.get_linewidth() == width and len(heights(line)) > 2]


def test_bars_are_the_shares_that_the_reader_found() -> None:
    """Of small red circles, the second row, 0.8 are triangles and 0.13 and a little by seed are circles."""
    axes = panel(plausible("adversarial")["figure"], "shape")
    circles, triangles = axes.containers
    assert circles[1].get_width() == pytest.approx(0.15)
    assert triangles[1].get_width() == pytest.approx(0.8)
    assert triangles[1].get_x() == pytest.approx(0.15)
    assert axes.yaxis_inverted()
    assert [label.get_text() for label in axes.get_yticklabels()][1:3] == [
        "001 circle red small",
        "010 circle blue large *",
    ]


def test_tuning_has_a_panel_for_each_class_and_groups_are_means() -> None:
    figure = plausible("adversarial")["tuning"]
    assert [axes.get_title(loc="left").partition(":")[0] for axes in figure.axes] == [
        "001 circle red small", "011 circle blue small", "110 triangle blue large",
    ]  # fmt: skip
    first, tuned, rest = thick(figure.axes[0])
    assert (first[0] > 0.9, first[-1] < 0.1) == (True, True)
    assert tuned[-1] > 0.9
    assert rest == pytest.approx([0.16] * len(GRID))
    mixed, _, _ = thick(plausible("adversarial")["tuning-mixed"].axes[0])
    assert mixed == pytest.approx([0.94] * len(GRID))


def test_an_arm_that_is_still_to_come_leaves_its_panel_empty() -> None:
    figure = CASES["adversarial"].draw(tables.without(adversarial_table(2), arm="011-mixed"))["tuning-mixed"]
    (axes,) = (axes for axes in figure.axes if "not measured" in words(axes))
    assert axes.get_title(loc="left") == "011 circle blue small"


def test_every_arm_has_its_panel_with_the_signals_of_its_world() -> None:
    figure = CASES["signal"].draw(signal_table(2))
    titles = {name: [axes.get_title(loc="left") for axes in each.axes] for name, each in figure.items()}
    assert titles["figure"] == ["as-is", "equal", "weak-color", "weak-size"]
    assert titles["rarity"] == ["as-is", "blue-even", "blue-most"]
    assert legend(panel(figure["figure"], "as-is")) == ["shape (0.073)", "color (0.213)", "size (0.237)"]
    assert legend(panel(figure["figure"], "weak-color"))[1] == "color (0.030)"
    assert len(CASES["signal"].draw(signal_table(1).filter(pl.col("arm") == "equal"))["figure"].axes) == 1


def test_responses_are_drawn_over_the_number_of_images() -> None:
    """Solid lines over every number, dashed ones over those of fixed frequency; a colour a distance."""
    figure = plausible("frequency")["figure"]
    axes = panel(figure, "Blue")
    lines = [line for line in axes.lines if line.get_linewidth() == 3 and len(heights(line))]
    assert [to_hex(line.get_color()).upper() for line in lines] == [c for c in DISTANCE_COLORS[:3] for _ in range(2)]
    assert [len(heights(line)) for line in lines] == [6, 3] * 3
    own = frequency_table(5).filter((pl.col("arm") == "color-10") & (pl.col("node") == "010"))["value"].mean()
    assert heights(lines[0])[2] == pytest.approx(own)
    quarter = "the class at a quarter of the draws"
    series = [text.get_text() for text in figure.legends[0].get_texts()]
    assert series == ["the class itself", "classes at distance 1", "111, distance 2", quarter]
    assert LEVEL in [heights(line)[0] for line in axes.lines if line.get_linestyle() == ":"]


def test_a_concept_that_was_not_swept_is_said_and_the_other_drawn() -> None:
    table = frequency_table(2).filter(pl.col("arm").str.starts_with("color"))
    figure = CASES["frequency"].draw(table)["figure"]
    assert "not measured: shape" in words(figure.axes[1])
    assert len(figure.legends[0].get_texts()) == 4


def test_bands_add_up_to_the_curve_of_the_probes() -> None:
    """The lowest band is what the reader calls right too, the highest ends at the curve."""
    axes = panel(plausible("blank")["figure"], "continuous")
    (probe,) = (heights(line) for line in axes.lines)
    tops = [float(np.asarray(band.get_paths()[0].vertices)[:, 1].max()) for band in axes.collections]
    assert tops[-1] == pytest.approx(probe.max())
    right = blank_table(5).filter(
        (pl.col("arm") == "continuous") & (pl.col("node") == "111") & (pl.col("instrument") == "reader.product")
    )
    assert tops[0] == pytest.approx(right.filter(pl.col("images_seen") == GRID[-1])["value"].mean())


def test_answers_to_nothing_are_the_second_values() -> None:
    figure = plausible("blank")["canvas"]
    bars = [bar.get_height() for container in figure.axes[0].containers for bar in container if bar.get_height()]
    assert len(bars) == 9
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["shape = triangle", "color = blue", "size = small"]
    assert max(bars) == pytest.approx(0.999 - 0.02)


def test_every_arm_has_a_mark_at_every_distance() -> None:
    figure = plausible("conditioning")["figure"]
    assert [axes.get_title(loc="left").partition(":")[0] for axes in figure.axes] == ["continuous", "binary", "masked"]
    for axes in figure.axes:
        large = [line for line in axes.lines if line.get_markersize() == 11]
        assert len(large) == 3 * 2 * 3
        assert {line.get_marker() for line in large} == {"o", "s"}
        assert {to_hex(line.get_color()).upper() for line in large} == set(DISTANCE_COLORS[:3])
    first = figure.axes[0].lines[3]  # after seeds and mean of distance 0, the seeds of distance 1 and their mean
    assert heights(first).tolist() == [pytest.approx(0.8)]


def test_faces_are_drawn_by_distance_and_by_gender() -> None:
    left, right = plausible("faces")["figure"].axes
    assert legend(left) == ["trained", "distance 1", "distance 2"]
    assert legend(right) == ["female", "male"]
    trained, one, two = thick(left)
    assert all(a >= b >= c for a, b, c in zip(trained, one, two, strict=True))
    female, male = thick(right)
    assert all(a >= b for a, b in zip(female, male, strict=True))


def test_a_distance_has_its_own_colour_in_faces_too() -> None:
    left, _ = plausible("faces")["figure"].axes
    colors = [to_hex(line.get_color()).upper() for line in left.lines if line.get_linewidth() == 3]
    assert colors == list(DISTANCE_COLORS[:3])
