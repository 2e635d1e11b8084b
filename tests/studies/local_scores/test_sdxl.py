"""SDXL's two experiments: on networks whose answer is known, on random weights, and on tables made by hand."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from torch import Tensor

from recombine.denoisers.adapters import Pipeline, tiny_pipeline
from recombine.errors import UserError
from recombine.instruments.representations.features import ESTIMATES
from recombine.lab.claims import judge_all
from recombine.lab.experiment import Experiment, make_plan
from recombine.lab.table import make_table
from recombine.settings import override
from recombine.studies.local_scores._shared import sdxl
from recombine.studies.local_scores._shared import sdxl_claims as claims_sdxl
from recombine.studies.local_scores._shared.sdxl_claims import ARM, LATENT, OWN_NOISE, PIXEL, PROMPT, TEXT
from recombine.studies.local_scores.sdxl_features import experiment as sdxl_features
from recombine.studies.local_scores.sdxl_pixels import experiment as sdxl_pixels
from support.pictures import words

pytest.importorskip("diffusers")

PIXELS, FEATURES = sdxl_pixels.EXPERIMENT, sdxl_features.EXPERIMENT
Rows = list[dict[str, Any]]


def table_of(experiment: Experiment, rows: Rows, arm: str, seeds: Iterable[int] = (0,)) -> pl.DataFrame:
    """These rows as what every seed measured."""
    head = (experiment.study, experiment.name, arm)
    return make_table(
        [
            (*head, seed, row.get("images_seen", 0), row["node"], None, row["instrument"], row["value"])
            for seed in seeds
            for row in rows
        ]
    )


def verdicts(experiment: Experiment, table: pl.DataFrame) -> dict[str, str]:
    judged = judge_all(experiment.claims, table, experiment.study, experiment.name, "full")
    return {claim["claim"]: claim["verdict"] for claim in judged}


@pytest.fixture(scope="module")
def pixel_rows() -> Rows:
    return sdxl_pixels.SMOKE.rows()


@pytest.fixture(scope="module")
def feature_rows() -> Rows:
    return sdxl_features.SMOKE.rows()


# --- pixels ----------------------------------------------------------------------------------------------------------


class KnownDenoiser(torch.nn.Module):
    """Blurs 3 x 3, and hears "dog" on the left, "horse" in the middle, "cat" on the right, or each word everywhere."""

    def __init__(self, local: bool) -> None:
        super().__init__()
        self.local = local

    def denoise(self, x: Tensor, sigma: Tensor, condition: Tensor | None) -> Tensor:
        answer = torch.nn.functional.avg_pool2d(x, 3, stride=1, padding=1)
        if condition is None:
            return answer
        column = torch.arange(x.shape[3]) * 3 // x.shape[3]  # 0, 1, 2: the thirds of the image
        for third, number in enumerate((4, 2, 6)):  # dog, horse, cat among the words
            where = (column == third).float() if self.local else torch.ones(x.shape[3])
            answer = answer + condition[:, number, None, None, None] * where
        return answer


def known(local: bool) -> Pipeline:
    spoken = sdxl_pixels.SMOKE.words

    def encode(prompts: Iterable[str]) -> Tensor:
        said = [prompt.replace(",", " ").split() for prompt in prompts]
        return torch.tensor([[float(word in row) for word in spoken] for row in said])

    tiny = tiny_pipeline(0)
    return replace(tiny, denoiser=KnownDenoiser(local), encode=encode, latent_shape=(4, 18, 18), real=True)  # type: ignore[arg-type]


def measured(local: bool, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], float]:
    monkeypatch.setattr(sdxl_pixels.PixelsConfig, "opened", lambda self: known(local))
    rows = override(sdxl_pixels.SMOKE, {"guidance": 1.0}).rows()
    return {(row["node"], row["instrument"]): row["value"] for row in rows}


def test_a_local_network_is_read_as_local(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(True, monkeypatch)
    assert all(found[place, claims_sdxl.LOCAL] == pytest.approx(1) for place in ("left", "middle", "right"))
    assert found["left/right", claims_sdxl.SAME] == 0
    for level in ("low", "mid", "high"):
        assert found[f"middle/{level}", claims_sdxl.OWN] == pytest.approx(1 / 9)
        assert found[f"middle/{level}", claims_sdxl.NEAR] == pytest.approx(1)
        assert found[f"middle/{level}", claims_sdxl.NEAR_CHANCE] == pytest.approx(8 / 323)


def test_words_that_act_everywhere_are_read_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(False, monkeypatch)
    assert all(found[place, claims_sdxl.LOCAL] == pytest.approx(1 / 3) for place in ("left", "middle", "right"))
    assert found["left/right", claims_sdxl.SAME] == pytest.approx(1)
    assert found["left/dog", claims_sdxl.WORD] == pytest.approx(2)  # the norm over four channels of a change of 1
    assert found["left/beautiful", claims_sdxl.WORD] == 0


def test_random_weights_are_measured_and_not_judged(pixel_rows: Rows) -> None:
    table = table_of(PIXELS, pixel_rows, PROMPT, range(5))
    judged = judge_all(PIXELS.claims, table, "local-scores", "sdxl-pixels", "smoke")
    assert {claim["note"] for claim in judged} == {"not measured: these are not SDXL's trained weights"}
    counts = {name: sum(row["instrument"] == name for row in pixel_rows) for name in ("map", "image", "word.map")}
    assert counts == {"map": 4 * 3 * 32 * 32, "image": 64 * 64, "word.map": 8 * 32 * 32}


def test_trained_weights_of_another_network_are_not_judged() -> None:
    assert sdxl.real_row(replace(tiny_pipeline(0), real=True))["value"] == 0


def test_a_word_is_taken_out() -> None:
    assert sdxl_pixels.without("a horse, a dog", "horse") == "a a dog"
    with pytest.raises(UserError, match="2 times"):
        sdxl_pixels.without("a horse, a dog", "a")


def pixel_table(near: tuple[float, float], same: float, own: float, real: float = 1.0) -> pl.DataFrame:
    values = {
        ("left/low", claims_sdxl.NEAR): near[0], ("left/high", claims_sdxl.NEAR): near[1],
        ("left/right", claims_sdxl.SAME): same, ("left", claims_sdxl.LOCAL): own,
    }  # fmt: skip
    rows: Rows = [{"node": node, "instrument": name, "value": value} for (node, name), value in values.items()]
    return table_of(PIXELS, [{"node": "all", "instrument": sdxl.REAL, "value": real}, *rows], PROMPT, range(5))


def test_the_paper_s_pixels_hold_and_others_fail() -> None:
    assert set(verdicts(PIXELS, pixel_table((0.8, 0.4), 0.95, 0.34)).values()) == {"holds"}
    assert set(verdicts(PIXELS, pixel_table((0.02, 0.02), 0.3, 0.8)).values()) == {"fails"}
    assert set(verdicts(PIXELS, pixel_table((0.8, 0.4), 0.95, 0.34, real=0)).values()) == {"undecided"}


# --- features --------------------------------------------------------------------------------------------------------


def test_random_features_are_measured_and_not_judged(feature_rows: Rows) -> None:
    table = pl.concat([table_of(FEATURES, feature_rows, arm, range(5)) for arm in (ARM, OWN_NOISE)])
    judged = judge_all(FEATURES.claims, table, "local-scores", "sdxl-features", "smoke")
    assert {claim["note"] for claim in judged} == {"not measured: these are not SDXL's trained weights"}
    layers = {row["node"] for row in feature_rows if row["instrument"] == "halves.gap"}
    assert len(layers) == 12 + 3
    assert {LATENT, PIXEL, TEXT} <= layers
    assert sum(row["instrument"] == "halves.matrix" for row in feature_rows) == 6 * 8 * 8


def test_batches_do_not_matter(feature_rows: Rows) -> None:
    other = override(sdxl_features.SMOKE, {"batch": 4}).rows()
    for one, two in zip(feature_rows, other, strict=True):
        assert one["node"] == two["node"]
        if one["instrument"] == "naive.between":
            assert one["value"] == pytest.approx(two["value"], abs=1e-3)


def test_shared_noise_is_the_same_for_all_prompts() -> None:
    pipeline = tiny_pipeline(0)
    told = pipeline.encode(["dog", "dog", "dog"])
    for shared in (True, False):
        config = override(sdxl_features.SMOKE, {"shared_noise": shared})
        latent = dict(config._heard(pipeline, told, 1))[LATENT]
        assert torch.allclose(latent[0], latent[1], atol=1e-4) == shared


def test_averaged_tokens_are_short() -> None:
    pipeline = tiny_pipeline(0)
    told = pipeline.encode(["dog", "cat", ""])
    wide = dict(sdxl_features.SMOKE._heard(pipeline, told, 0))
    short = dict(override(sdxl_features.SMOKE, {"tokens": "averaged"})._heard(pipeline, told, 0))
    block = next(iter(pipeline.blocks))
    assert wide[block].shape == (3, 256 * 32)
    assert torch.allclose(wide[block].reshape(3, 256, 32).mean(1), short[block], atol=1e-5)


def feature_table(gaps: dict[str, float], ratios: dict[str, float], naive: float, split: float) -> pl.DataFrame:
    """Eight blocks down, two in the middle, eight up, all of a side alike."""
    blocks = [
        f"{side}_blocks.{number}" for side, count in (("down", 8), ("mid", 2), ("up", 8)) for number in range(count)
    ]
    rows: list[tuple[Any, ...]] = []
    for seed in range(5):
        noise = 1e-4 * seed
        for arm in (ARM, OWN_NOISE):
            head = ("local-scores", "sdxl-features", arm, seed)
            rows.append((*head, 0, "all", None, sdxl.REAL, 1.0))
            for number, node in enumerate([*blocks, LATENT, PIXEL, TEXT]):
                side = node.split("_")[0]
                readings = {"halves.gap": gaps[side], "naive.between": naive, "background.between": split}
                readings |= {"naive.ratio": ratios[side]} if side in ratios else {}
                rows += [(*head, number, node, None, name, value + noise) for name, value in readings.items()]
    return make_table(rows)


def test_the_paper_s_features_hold_and_flat_ones_fail() -> None:
    gaps = {"down": 0.2, "mid": 0.4, "up": 0.2, LATENT: 0.1, PIXEL: 0.05, TEXT: 0.3}
    arch = feature_table(gaps, {"down": 1.5, "mid": 4.0, "up": 1.4}, 0.4, 0.1)
    assert set(verdicts(FEATURES, arch).values()) == {"holds"}
    flat = feature_table(dict.fromkeys(gaps, -0.01), {"down": 1.0, "mid": 1.0, "up": 1.0}, 0.1, 0.4)
    found = verdicts(FEATURES, flat)
    assert (found["SD5"], found["SD6"], found["SD7"], found["SD10"]) == ("fails", "fails", "fails", "fails")


# --- both ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", [PIXELS, FEATURES])
def test_without_the_model_one_line_says_what_to_get(experiment: Experiment, tmp_path: Path) -> None:
    def opened(folder: Path) -> None:
        (first, *_) = make_plan(experiment, "full", overrides={"pipeline": str(folder)}).runs
        assert isinstance(first.config, sdxl.PipelineConfig)
        first.config.opened()

    nowhere = tmp_path / "nowhere"
    with pytest.raises(UserError, match=f"hf download {sdxl.MODEL}") as found:
        opened(nowhere)
    assert str(nowhere) in str(found.value)
    assert "\n" not in str(found.value)
    with pytest.raises(UserError, match=r"model_index\.json"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("experiment", "change", "said"),
    [
        (PIXELS, {"words": ["giraffe"]}, "'giraffe' is 0 times"),
        (PIXELS, {"apart": ["left", "below"]}, "no place 'below'"),
        (PIXELS, {"places": [{"name": "left", "row": 0.5, "column": 0.1, "word": "cow"}]}, "'cow' is asked for"),
        (PIXELS, {"places": [{"name": "left", "row": 1.5, "column": 0.1}]}, "less than 1"),
        (FEATURES, {"template": "a dog"}, "write {} where"),
        (FEATURES, {"concepts": [{"name": "one", "words": ["a", "b"]}]}, "at least 2 items"),
        (FEATURES, {"concepts": [{"name": name, "words": ["a", "b"]} for name in "xy"]}, "named twice"),
    ],
)
def test_settings_that_make_no_sense_are_one_line(experiment: Experiment, change: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        make_plan(experiment, "smoke", overrides=change)


def test_a_step_outside_of_the_schedule_is_one_line() -> None:
    with pytest.raises(UserError, match="steps 0 to 999"):
        override(sdxl_features.SMOKE, {"step": 1000}).rows()


def test_figures_say_that_weights_are_random(pixel_rows: Rows, feature_rows: Rows) -> None:
    for drawing in PIXELS.draw(table_of(PIXELS, pixel_rows, PROMPT), sdxl_pixels.SMOKE).values():
        assert "RANDOM WEIGHTS" in words(drawing.figure)
    drawn = FEATURES.draw(table_of(FEATURES, feature_rows, ARM), sdxl_features.SMOKE)
    assert all("RANDOM WEIGHTS" in words(drawing.figure) for drawing in drawn.values())
    assert all(estimate in words(drawn["estimates"].figure) for estimate in ESTIMATES)


def test_figures_are_drawn_from_any_part() -> None:
    for experiment, arm, config in ((PIXELS, PROMPT, sdxl_pixels.SMOKE), (FEATURES, ARM, sdxl_features.SMOKE)):
        part = table_of(experiment, [{"node": "all", "instrument": sdxl.REAL, "value": 1.0}], arm)
        for drawing in experiment.draw(part, config).values():
            assert "RANDOM WEIGHTS" not in words(drawing.figure)
