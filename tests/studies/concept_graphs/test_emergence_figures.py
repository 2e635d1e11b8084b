from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.report.kit.style import DISTANCE_COLORS
from recombine.lab.table import make_table
from recombine.studies.concept_graphs._shared.figures import cube, emergence, two_judges
from recombine.studies.concept_graphs._shared.graph import node_label
from support.pictures import heights, render, words
from support.tables import calibration, nodes_of, table_of

FOUR = {
    "shape": ("circle", "triangle"),
    "color": ("red", "blue"),
    "size": ("large", "small"),
    "background": ("white", "black"),
}
THREE = {name: FOUR[name] for name in ("shape", "color", "size")}
TWO = {name: FOUR[name] for name in ("shape", "color")}
SEEN = [0, *(64 * 2**i for i in range(12))]


def synthetic(
    concepts: dict[str, tuple[str, ...]] = THREE, seeds: int = 5, kind: str = "perfect", without: tuple[str, ...] = ()
) -> pl.DataFrame:
    """Trained: everything up to one digit from 0...0. A class at distance d emerges at evaluation 3 + 2 d."""

    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        distance = max(0, node.count("1") - 1)
        there = {"perfect": float(SEEN.index(seen) >= 3 + 2 * distance), "flat": 0.5, "broken": 0.0}[kind]
        found: dict[Any, float] = {("reader.accuracy", name): there for name in concepts if name not in without}
        found |= {"reader.product": there, "reader.additive": (1 + there) / 2, "reader.none": 1 - there}
        return {name: value for name, value in (found | {"probe.product": 1.0}).items() if name not in without}

    empty = calibration({"blank": {"reader.none": 1.0}}, ["main"], range(seeds))
    return pl.concat([table_of(readings, ["main"], nodes_of(len(concepts)), SEEN, range(seeds)), empty])


def thick_lines(axes: Axes) -> list[tuple[str, list[float]]]:
    return [
        (to_hex(line.get_color()).upper(), heights(line).tolist()) for line in axes.lines if line.get_linewidth() > 2
    ]


def test_labels_show_digits_and_words_in_one_order() -> None:
    assert node_label("011", THREE) == "011 circle blue small"
    assert node_label("10", TWO, "\n") == "10\ntriangle red"


def test_emergence_draws_every_class_in_the_colour_of_its_distance() -> None:
    figure = emergence(synthetic(), "main", THREE)
    lines = thick_lines(figure.axes[0])
    expected = {DISTANCE_COLORS[d]: [float(position >= 3 + 2 * d) for position in range(len(SEEN))] for d in range(3)}
    assert sorted(color for color, _ in lines) == sorted(
        [DISTANCE_COLORS[0]] * 4 + [DISTANCE_COLORS[1]] * 3 + [DISTANCE_COLORS[2]]
    )
    for color, values in lines:
        assert values == expected[color]
    thin = [line for line in figure.axes[0].lines if line.get_linewidth() == 0.8 and len(heights(line)) > 2]
    assert len(thin) == 8 * 5
    render(figure)


def test_titles_say_what_was_found_and_the_caption_what_lines_mean() -> None:
    figure = emergence(synthetic(), "main", THREE)
    text = words(figure).replace("\n", " ")
    assert "d0 at 256, d1 at 1.02k, d2 at 4.1k" in text
    assert "111: shape 1.00, color 1.00, size 1.00" in text
    assert "111: additive 1.00, product 1.00" in text
    assert "Digits: shape, color, size." in text
    assert "95% interval of the mean" in text
    assert "n = 5 seeds" in text
    additive, total = (values for _, values in thick_lines(figure.axes[2]))
    assert additive == [(1 + value) / 2 for value in total]
    graph = words(figure.axes[3])
    for label in (
        "000\ncircle red large\nat 256",
        "101\ntriangle red small\nat 1.02k",
        "111\ntriangle blue small\nat 4.1k",
    ):
        assert label in graph


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (synthetic(kind="flat"), "not reached (0/5 seeds)"),
        (synthetic(kind="broken"), "not reached (0/5 seeds)"),
        (synthetic(seeds=1), "n = 1 seed: one curve, no band."),
        (synthetic(without=("color",)), "(not measured: color)"),
        (
            synthetic(without=("reader.additive", "reader.product")),
            "not measured: additive: mean over concepts, product: all right",
        ),
        (make_table([], COLUMNS), "not measured: reader.product"),
    ],
    ids=["flat", "broken", "one seed", "one concept missing", "measures missing", "empty"],
)
def test_degenerate_tables_give_figures_that_say_so(table: pl.DataFrame, said: str) -> None:
    figure = emergence(table, "main", THREE)
    assert said in " ".join(words(figure).split())
    render(figure)
    cube(table, "main", THREE)
    two_judges(table, THREE)


def test_a_class_reached_by_some_seeds_says_by_how_many() -> None:
    table = synthetic().with_columns(
        pl.when((pl.col("seed") < 2) & (pl.col("node") == "111")).then(0.0).otherwise("value").alias("value")
    )
    assert "111\ntriangle blue small\nat 4.1k (3/5 seeds)" in words(emergence(table, "main", THREE).axes[3])


@pytest.mark.parametrize("concepts", [TWO, THREE, FOUR], ids=["2", "3", "4"])
def test_the_graph_has_every_node_and_edge_once_and_apart(concepts: dict[str, tuple[str, ...]]) -> None:
    n = len(concepts)
    figure = cube(synthetic(concepts, seeds=2), "main", concepts)
    panels = [axes for axes in figure.axes if axes.collections and "images" in axes.get_title(loc="left")]
    assert len(panels) == 4
    assert panels[-1].get_title(loc="left").startswith("131k images: 100% on unseen")
    for axes in panels:
        places = np.array([disc.get_offsets()[0] for disc in axes.collections])
        assert len(places) == 2**n
        assert len(axes.lines) == n * 2 ** (n - 1)
        apart = np.linalg.norm(places[:, None] - places[None], axis=-1) + 9 * np.eye(2**n)
        assert apart.min() > 0.3
        for line in axes.lines:  # no edge runs through a third node
            (x0, x1), (y0, y1) = line.get_data()
            a, b = np.array([x0, y0]), np.array([x1, y1])
            along = np.clip(((places - a) @ (b - a)) / ((b - a) @ (b - a)), 0, 1)
            off = np.linalg.norm(places - (a + along[:, None] * (b - a)), axis=1)
            assert (off < 0.04).sum() == 2
    ringed = [disc for disc in panels[0].collections if to_hex(disc.get_edgecolor()[0]) == "#000000"]
    assert len(ringed) == n + 1


def test_the_cube_fills_over_time() -> None:
    figure = cube(synthetic(), "main", THREE)
    panels = [axes for axes in figure.axes if "images" in axes.get_title(loc="left")]
    filled = [sum(text.get_text() == "100" and text.get_weight() == "bold" for text in axes.texts) for axes in panels]
    assert filled == sorted(filled)
    assert filled[0] == 0
    assert filled[-1] == 8


def test_equally_far_classes_are_averaged() -> None:
    table = synthetic().filter((pl.col("distance") < 2) | pl.col("distance").is_null())
    table = table.with_columns(
        pl.when((pl.col("node") == "011") & (pl.col("instrument") == "reader.product"))
        .then(0.25).otherwise("value").alias("value")
    )  # fmt: skip
    figure = emergence(table, "main", THREE)
    assert "the 3 farthest classes" in figure.axes[2].get_title(loc="left")
    _, total = (values for _, values in thick_lines(figure.axes[2]))
    assert total[-1] == pytest.approx((1 + 1 + 0.25) / 3)


def test_the_two_judges_show_the_artefact() -> None:
    figure = two_judges(synthetic(kind="broken"), THREE)
    probe, reader, none = (values for _, values in thick_lines(figure.axes[0]))
    assert set(probe) == {1.0}
    assert set(reader) == {0.0}
    assert set(none) == {1.0}
    assert "main: probes 1.00, reader 0.00, no object 1.00" in words(figure)
    assert "Samples of 111" in words(figure)


def test_the_order_of_rows_does_not_matter() -> None:
    table = synthetic(seeds=3)
    assert render(emergence(table, "main", THREE)) == render(emergence(table.reverse(), "main", THREE))
