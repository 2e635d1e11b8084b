"""Sheets of scenes: arms down, numbers of labels across, a cross at every label."""

import numpy as np
import pytest

from recombine.instruments.scenes.evaluation import layouts
from recombine.lab.report.kit.scene_sheets import labels_and_samples
from recombine.lab.samples import Samples
from recombine.runs.scenes import ScenesRun
from recombine.studies import EXPERIMENTS
from recombine.studies.local_scores.length.arms import SMOKE as RUN  # of 1 and 3 labels

SIDE = RUN.world.pixels


def kept(run: ScenesRun = RUN) -> Samples:
    kind = (len(run.evaluation.counts), run.evaluation.layouts, SIDE, SIDE, 3)
    return Samples(run, 0, {64: np.zeros(kind, np.uint8), 128: np.full(kind, 9, np.uint8)})


def test_every_label_has_its_cross_on_its_own_image() -> None:
    figure = labels_and_samples({"a": kept(), "b": kept()}, {"b": "B", "a": "A"})
    panels = np.array(figure.axes).reshape(2, 2)
    assert [axes.get_title() for axes in panels[0]] == ["1 label", "3 labels"]
    assert [axes.get_ylabel() for axes in panels[:, 0]] == ["B", "A"]
    picture = panels[0, 0].images[0].get_array()
    assert int(picture[1, 1, 0]) == 9  # the end of training
    places, present = layouts(RUN.world, 3, RUN.evaluation.layouts, RUN.seeds.sampling)
    for number, line in enumerate(panels[0, 1].lines):
        x, y = places[number][present[number]].numpy().T - 0.5 + 1
        assert np.asarray(line.get_xdata()) == pytest.approx(x + number * (SIDE + 1))
        assert np.asarray(line.get_ydata()) == pytest.approx(y)
        assert len(x) == 3


def test_nothing_kept_is_said() -> None:
    assert "no samples" in labels_and_samples({}, {"a": "A"}).axes[0].texts[0].get_text()


@pytest.mark.parametrize("name", ["length", "soft", "receptive-field"])
def test_every_arm_is_on_a_sheet(name: str) -> None:
    experiment = EXPERIMENTS[f"local-scores/{name}"]
    assert experiment.sheets is not None
    arms = [arm for arm, run in experiment.budgets["smoke"].arms.items() if isinstance(run, ScenesRun)]
    drawings = experiment.sheets({arm: kept() for arm in arms}).values()
    assert sum(len(drawing.figure.axes) for drawing in drawings) == 2 * len(arms)


def test_a_sheet_without_arms_is_left_out() -> None:
    sheets = EXPERIMENTS["local-scores/length"].sheets
    assert sheets is not None
    assert set(sheets({"1 1-3": kept()})) == {"samples"}
    assert set(sheets({"3 fixed 1-3": kept()})) == {"samples-variants"}
