import io
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from recombine.lab.report.kit.axes import count_text, end_labels, images_axis
from recombine.lab.report.kit.bars import draw_bars
from recombine.lab.report.kit.curves import band_caption, draw_mean, draw_series, mean_and_band
from recombine.lab.report.kit.sheets import sheet_over_time, tile
from recombine.lab.report.kit.style import DISTANCE_COLORS, SERIES_COLORS, distance_color, house_style, save_figure
from recombine.lab.statistics import mean_interval

SEEN = np.array([64, 128, 256])


def curve(*values: float) -> tuple[np.ndarray, np.ndarray]:
    return SEEN[: len(values)], np.array(values)


def small_figure() -> Figure:
    with house_style():
        figure = Figure(figsize=(3, 2), layout="constrained")
        axes = figure.subplots()
        draw_mean(axes, [curve(0, 0.5, 1), curve(0.2, 0.4, 0.9)], DISTANCE_COLORS[1], "both")
        images_axis(axes)
        axes.legend()
    return figure


def test_saving_gives_png_and_svg_with_the_same_bytes_each_time(tmp_path: Path) -> None:
    first = save_figure(small_figure(), tmp_path / "one" / "figure.v1")
    second = save_figure(small_figure(), tmp_path / "two" / "figure.v1")
    assert [path.name for path in first] == ["figure.v1.png", "figure.v1.svg"]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()
    with Image.open(first[0]) as picture:
        assert picture.size == (390, 260)  # 3 x 2 inches
        assert picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    svg = first[1].read_text()
    assert "<dc:date>" not in svg
    assert len(list((tmp_path / "one").iterdir())) == 2


def test_a_readers_own_settings_change_nothing_and_are_left_alone(tmp_path: Path) -> None:
    plain = save_figure(small_figure(), tmp_path / "plain")[0].read_bytes()
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "lines.antialiased": False}):
        styled = save_figure(small_figure(), tmp_path / "styled")[0].read_bytes()
        assert matplotlib.rcParams["font.size"] == 30
    assert styled == plain


def test_mean_and_band_known_answers() -> None:
    seen, (mean, low, high) = mean_and_band([curve(0, 0.5, 1), curve(0.2, 0.5, 0.8)], "min-max")
    assert seen.tolist() == SEEN.tolist()
    assert mean == pytest.approx([0.1, 0.5, 0.9])
    assert low == pytest.approx([0, 0.5, 0.8])
    assert high == pytest.approx([0.2, 0.5, 1])
    _, (mean, low, high) = mean_and_band([curve(0.3, 0.4, 0.5)] * 6, "interval")
    assert low == pytest.approx(mean)
    assert high == pytest.approx(mean)
    rng = np.random.default_rng(0)
    seeds = [curve(*rng.normal(0.5, 0.1, 3)) for _ in range(20)]
    _, (mean, low, high) = mean_and_band(seeds, "interval")
    half = 2.093 * np.std([value for _, value in seeds], axis=0, ddof=1) / np.sqrt(20)  # t of 19 degrees of freedom
    assert low == pytest.approx(mean - half, abs=1e-5)
    assert high == pytest.approx(mean + half, abs=1e-5)


def test_an_unfinished_seed_shortens_the_mean() -> None:
    seen, (mean, _, _) = mean_and_band([curve(0, 0.5, 1), curve(1, 0.5)], "interval")
    assert seen.tolist() == [64, 128]
    assert mean.tolist() == [0.5, 0.5]
    seen, bands = mean_and_band([], "interval")
    assert seen.shape == (0,)
    assert bands.shape == (3, 0)
    seen, bands = mean_and_band([(SEEN[:1], np.ones(1)), (SEEN[1:2], np.ones(1))], "interval")
    assert bands.shape == (3, 0)


def drawn(series: dict[str, list[Any]], chance: float | None = None) -> Axes:
    with house_style():
        axes = Figure(figsize=(4, 3)).subplots()
        draw_series(axes, series, chance)
        axes.figure.savefig(io.BytesIO(), format="png", dpi=40)
    return axes


def names_in(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_series_have_their_names_colours_and_dashes() -> None:
    series = {"shape": [curve(0, 0.5, 1), curve(0.2, 0.7, 1)], "color": [curve(0, 0, 0.4)]}
    axes = drawn(series, chance=0.5)
    assert names_in(axes) == ["shape", "color"]
    means = {str(line.get_label()): line for line in axes.lines if not str(line.get_label()).startswith("_")}
    assert means["shape"].get_ydata() == pytest.approx([0.1, 0.6, 1])
    assert means["color"].get_ydata() == pytest.approx([0, 0, 0.4])
    assert [line.get_color() for line in means.values()] == list(SERIES_COLORS[:2])
    assert means["shape"].get_linestyle() != means["color"].get_linestyle()
    assert axes.get_xlabel() == "images seen"
    assert axes.get_xlim() == (64, 256)
    assert "chance" in [text.get_text() for text in axes.texts]
    assert not drawn(series).texts


def test_a_series_that_was_not_measured_is_said_and_changes_no_other() -> None:
    axes = drawn({"shape": [curve(0, 1)], "color": [], "size": [curve(0.5, 1)]})
    assert names_in(axes) == ["shape", "(not measured: color)", "size"]
    whole = drawn({"shape": [curve(0, 1)], "color": [curve(0, 0)], "size": [curve(0.5, 1)]})
    colors = [{str(line.get_label()): line.get_color() for line in panel.lines} for panel in (axes, whole)]
    assert colors[0]["size"] == colors[1]["size"] == SERIES_COLORS[2]  # not that of the one that is missing


def test_a_panel_without_any_series_says_so() -> None:
    axes = drawn({"shape": [], "color": []}, chance=0.5)
    [text] = axes.texts
    assert text.get_text() == "not measured: shape, color"
    assert names_in(axes) == []
    assert not axes.lines
    assert not axes.axison
    assert len(drawn({}).texts) == 1


def test_the_axis_begins_with_the_first_images_seen() -> None:
    """What was measured before training has no place on a logarithmic axis."""
    axes = drawn({"shape": [(np.array([0, 64, 256]), np.array([0.1, 0.5, 0.9]))]})
    assert names_in(axes) == ["shape"]
    assert axes.get_xlim() == (64, 256)


def test_distances_have_colours_of_their_own() -> None:
    assert len(set(DISTANCE_COLORS)) == len(DISTANCE_COLORS) >= 4
    assert [distance_color(d) for d in range(4)] == list(DISTANCE_COLORS[:4])
    assert distance_color(99) == DISTANCE_COLORS[-1]
    assert distance_color(None) not in DISTANCE_COLORS


def test_texts() -> None:
    assert [count_text(n) for n in (0, 64, 999, 1000, 25600, 1.5e6)] == ["0", "64", "999", "1k", "25.6k", "1.5M"]
    assert band_caption(1) == "n = 1 seed: one curve, no band."
    assert "95% interval of the mean" in band_caption(5)
    assert "n = 5 seeds" in band_caption(5)
    assert "smallest to largest" in band_caption(5, "min-max")


def test_end_labels_never_overlap_and_stay_inside() -> None:
    with house_style():
        axes = Figure().subplots()
        axes.set_ylim(0, 1.05)
        end_labels(axes, {f"class {i}": (0.97 + 0.001 * i, "black") for i in range(8)} | {"low": (0.1, "black")})
        end_labels(axes, {})
    heights = sorted(text.get_position()[1] for text in axes.texts)
    assert np.diff(heights).min() >= 0.0619
    assert heights[-1] <= 1.0201
    assert heights[0] == pytest.approx(0.1)


def test_tile_puts_each_image_in_its_place() -> None:
    images = np.arange(6, dtype=np.uint8).reshape(2, 3, 1, 1, 1) * np.ones((1, 1, 2, 2, 3), dtype=np.uint8)
    sheet = tile(images, pad=1, background=99)
    assert sheet.shape == (7, 10, 3)
    assert sheet[1::3, 1::3, 0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (sheet[0] == 99).all()
    assert (sheet[:, 0] == 99).all()
    for broken in (images.astype(np.float32), images[..., :1], images[0]):
        with pytest.raises(ValueError, match="uint8"):
            tile(broken)


@pytest.mark.parametrize("k", [1, 3, 4])
def test_sheet_over_time_has_nodes_down_and_moments_across(k: int) -> None:
    samples = {seen: np.full((2, k, 4, 4, 3), seen, dtype=np.uint8) for seen in (200, 100)}
    figure = sheet_over_time(samples, ["00\ncircle red", "01\ncircle blue"])
    panels = np.array(figure.axes).reshape(2, 2)
    assert [axes.get_title() for axes in panels[0]] == ["100", "200"]  # in time, whatever the order given
    assert [axes.get_ylabel() for axes in panels[:, 0]] == ["00\ncircle red", "01\ncircle blue"]
    pictures = [axes.images[0].get_array() for axes in panels[1]]
    assert [int(picture[1, 1, 0]) for picture in pictures] == [100, 200]
    figure.savefig(io.BytesIO(), format="png", dpi=40)


def test_sheet_over_time_degenerate() -> None:
    sheet_over_time({}, []).savefig(io.BytesIO(), format="png", dpi=40)
    with pytest.raises(ValueError, match="1 rows for 2 nodes"):
        sheet_over_time({1: np.zeros((1, 1, 2, 2, 3), dtype=np.uint8)}, ["0", "1"])


def test_bars_are_means_with_whiskers_dots_and_gaps() -> None:
    axes = Figure().subplots()
    draw_bars(axes, {"near": {"a": [0.2, 0.4], "b": [0.5]}, "far": {"b": [1.0, 1.0]}}, baseline={"near": {"a": 0.1}})
    heights = [bar.get_height() for bar in axes.patches if bar.get_height()]
    assert heights == pytest.approx([0.3, 0.5, 1.0])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["near", "far"]
    assert axes.get_legend_handles_labels()[1] == ["a", "b"]
    whiskers = [line.get_ydata() for line in axes.lines if line.get_linewidth() == 2]
    low, high = mean_interval([0.2, 0.4]) or (0, 0)
    assert any(list(ends) == pytest.approx([low, high]) for ends in whiskers)
    assert any(list(ends) == pytest.approx([0.1, 0.1]) for ends in whiskers)
