"""Evaluation of scenes: images of many labels, on denoisers whose answer is known."""

import pytest
import torch
from torch import Tensor

from recombine.diffusion.samplers import SamplerConfig
from recombine.diffusion.schedules import EDMSchedule
from recombine.instruments.observation import Row
from recombine.instruments.scenes import evaluation as scene_evaluation
from recombine.instruments.scenes.evaluation import Sampling, SceneEvaluation, layouts, measure_scenes, prompts
from recombine.instruments.scenes.object_finder import Finder
from recombine.worlds.scenes.labels import LabelConfig
from recombine.worlds.scenes.world import SceneWorld

WORLD = SceneWorld(pixels=32, style="discs", grid=16)
LABELS = LabelConfig(grid=16)
EVALUATION = SceneEvaluation(counts=(1, 4), layouts=6, together=4, sampler=SamplerConfig(steps=2))


def drawn(label: Tensor, most: int) -> Tensor:
    """Dark discs in the middle of the first `most` marked cells."""
    centres = (torch.stack([torch.arange(256) % 16, torch.arange(256) // 16], 1) + 0.5) * 2  # [cells, 2]
    ticks = torch.arange(32) + 0.5
    away = ((ticks[None, None] - centres[:, :1, None]) ** 2 + (ticks[None, :, None] - centres[:, 1:, None]) ** 2).sqrt()
    cover = (2.8 - away).clamp(0, 1)  # [cells, H, W]
    kept = label * (label.cumsum(1) <= most)
    return 1 - 2 * torch.einsum("nk,khw->nhw", kept, cover).clamp(max=1)[:, None].expand(-1, 3, -1, -1)


def measured(most: int) -> dict[tuple[int, str], float]:
    sampling = Sampling(
        lambda x, sigma, label: drawn(label, most), EVALUATION.sampler, EDMSchedule(), WORLD, LABELS, 0,
        torch.device("cpu"),
    )  # fmt: skip
    rows, images = measure_scenes(sampling, EVALUATION, EVALUATION.tools(WORLD, "cpu"))
    assert images.shape == (2, 6, 3, 32, 32)
    return {(row["labels"], row["instrument"]): row["value"] for row in rows}


def test_a_denoiser_that_draws_every_label_has_full_recall() -> None:
    found = measured(most=12)
    for count in (1, 4):
        assert found[count, "count.recall"] == 1
        assert found[count, "count.extras"] == 0
        assert found[count, "count.chance"] < 0.5


def test_a_denoiser_that_draws_one_label_has_one() -> None:
    found = measured(most=1)
    assert found[1, "count.recall"] == 1
    assert found[4, "count.recall"] == 0.25
    assert found[4, "count.strict"] == 0


def test_layouts_are_the_same_for_every_label_and_in_any_number() -> None:
    few, many = layouts(WORLD, 3, 2, 0)[0], layouts(WORLD, 3, 5, 0)[0]
    assert torch.equal(few, many[:2])
    grid, listed = (prompts(WORLD, label, 3, 2, 0) for label in (LABELS, LabelConfig(form="list")))
    assert torch.equal(grid[1], listed[1])
    assert torch.equal(grid[2], listed[2])
    assert not torch.equal(layouts(WORLD, 3, 2, 1)[0], few)


def test_the_finder_is_tried_on_rendered_scenes() -> None:
    rows = EVALUATION.replace(calibration_scenes=4).calibration(WORLD, 0, "cpu")
    recall = {row["labels"]: row["value"] for row in rows if row["instrument"] == "calibration.count.recall"}
    assert set(recall) == set(range(1, 13))
    assert min(recall.values()) > 0.95


def test_runs_of_a_seed_share_one_trial_of_the_finder(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def try_out(finder: Finder, world: SceneWorld, scenes: int, seed: int, device: str) -> list[Row]:
        tried.append(seed)
        return [{"labels": 1, "instrument": "calibration.count.recall", "value": 1.0}]

    monkeypatch.setattr(scene_evaluation, "calibrate_counting", try_out)
    evaluation = EVALUATION.replace(calibration_scenes=3)
    first, second = (evaluation.calibration(WORLD, 5, "cpu") for _ in range(2))
    first[0]["value"] = 0.0  # what a run does with its rows is its own affair
    assert second[0]["value"] == 1
    evaluation.calibration(WORLD, 6, "cpu")
    assert tried == [5, 6]
