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
from recombine.lab.experiment import Drawing, Experiment, make_plan
from recombine.lab.table import make_table
from recombine.runs import sdxl, sdxl_features, sdxl_pixels
from recombine.runs.sdxl_features import LATENT, OTHER_NOISE, PIXEL, TEXT, side_of
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.local_scores.sdxl.sdxl_features.experiment import SMOKE as FEATURES_SMOKE
from recombine.studies.local_scores.sdxl.sdxl_pixels.experiment import SMOKE as PIXELS_SMOKE
from support.pictures import words
from support.tables import rows_of

pytest.importorskip("diffusers")

PIXELS, FEATURES = (EXPERIMENTS[f"local-scores/sdxl-{name}"] for name in ("pixels", "features"))
PROMPT, CONCEPT = sdxl_pixels.ARM, sdxl_features.ARM
Rows = list[dict[str, Any]]


def table_of(experiment: Experiment, rows: Rows, arm: str, seeds: Iterable[int] = (0,)) -> pl.DataFrame:
    """These rows as what every seed measured."""
    return make_table([{**row, "arm": arm, "seed": seed} for seed in seeds for row in rows], experiment.columns)


def drawn_of(experiment: Experiment, table: pl.DataFrame, config: Any) -> dict[str, Drawing]:
    assert experiment.draw is not None
    return experiment.draw(table, config)


def verdicts(experiment: Experiment, table: pl.DataFrame) -> dict[str, str]:
    judged = judge_all(experiment.claims, table, experiment.study, experiment.name, "full")
    return {claim["claim"]: claim["verdict"] for claim in judged}


@pytest.fixture(scope="module")
def pixel_rows() -> Rows:
    return PIXELS_SMOKE.rows()


@pytest.fixture(scope="module")
def feature_rows() -> Rows:
    return FEATURES_SMOKE.rows()


# --- pixels ----------------------------------------------------------------------------------------------------------


class KnownDenoiser(torch.nn.Module):
    """Blurs 3 x 3; "dog" acts on the left, "horse" in the middle, "cat" on the right, or each word everywhere."""

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
    known_words = PIXELS_SMOKE.words

    def encode(prompts: Iterable[str]) -> Tensor:
        said = [prompt.replace(",", " ").split() for prompt in prompts]
        return torch.tensor([[float(word in row) for word in known_words] for row in said])

    tiny = tiny_pipeline(0)
    return replace(tiny, denoiser=KnownDenoiser(local), encode=encode, latent_shape=(4, 18, 18), trained=True)  # type: ignore[arg-type]


def measured(local: bool, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str | None, ...], float]:
    """By instrument, place, and noise level or word."""
    monkeypatch.setattr(sdxl_pixels.PixelsConfig, "opened", lambda self: known(local))
    rows = override(PIXELS_SMOKE, {"guidance": 1.0}).rows()
    return {(row["instrument"], row.get("place"), row.get("level", row.get("word"))): row["value"] for row in rows}


def test_a_local_network_is_measured_as_local(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(True, monkeypatch)
    assert all(found[sdxl_pixels.LOCAL, place, None] == pytest.approx(1) for place in ("left", "middle", "right"))
    assert found[sdxl_pixels.SAME, "left", None] == 0
    for level in ("low", "mid", "high"):
        assert found[sdxl_pixels.ITSELF, "middle", level] == pytest.approx(1 / 9)
        assert found[sdxl_pixels.NEAR, "middle", level] == pytest.approx(1)
        assert found[sdxl_pixels.NEAR_CHANCE, "middle", level] == pytest.approx(8 / 323)


def test_words_that_act_everywhere_are_measured_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(False, monkeypatch)
    assert all(found[sdxl_pixels.LOCAL, place, None] == pytest.approx(1 / 3) for place in ("left", "middle", "right"))
    assert found[sdxl_pixels.SAME, "left", None] == pytest.approx(1)
    assert found[sdxl_pixels.WORD, "left", "dog"] == pytest.approx(2)  # the norm over four channels of a change of 1
    assert found[sdxl_pixels.WORD, "left", "beautiful"] == 0


def test_random_weights_are_measured_and_not_judged(pixel_rows: Rows) -> None:
    table = table_of(PIXELS, pixel_rows, PROMPT, range(5))
    judged = judge_all(PIXELS.claims, table, "local-scores", "sdxl-pixels", "smoke")
    assert {claim["note"] for claim in judged} == {"not measured: these are not SDXL's trained weights"}
    counts = {name: sum(row["instrument"] == name for row in pixel_rows) for name in ("map", "image", "word.map")}
    assert counts == {"map": 4 * 3 * 32 * 32, "image": 3 * 64 * 64, "word.map": 8 * 32 * 32}


def test_trained_weights_of_another_network_are_not_judged() -> None:
    assert sdxl.trained_row(replace(tiny_pipeline(0), trained=True))["value"] == 0


def test_a_word_is_taken_out() -> None:
    assert sdxl_pixels.without("a horse, a dog", "horse") == "a a dog"
    with pytest.raises(UserError, match="2 times"):
        sdxl_pixels.without("a horse, a dog", "a")


def pixel_table(near: tuple[float, float], same: float, local: float, trained: float = 1.0) -> pl.DataFrame:
    rows: Rows = [
        {"instrument": sdxl.TRAINED, "value": trained},
        {"instrument": sdxl_pixels.NEAR, "place": "left", "level": "low", "value": near[0]},
        {"instrument": sdxl_pixels.NEAR, "place": "left", "level": "high", "value": near[1]},
        {"instrument": sdxl_pixels.SAME, "place": "left", "other": "right", "value": same},
        {"instrument": sdxl_pixels.LOCAL, "place": "left", "value": local},
    ]
    return table_of(PIXELS, rows, PROMPT, range(5))


def test_the_paper_s_pixels_hold_and_others_fail() -> None:
    assert set(verdicts(PIXELS, pixel_table((0.8, 0.4), 0.95, 0.34)).values()) == {"holds"}
    assert set(verdicts(PIXELS, pixel_table((0.02, 0.02), 0.3, 0.8)).values()) == {"fails"}
    assert set(verdicts(PIXELS, pixel_table((0.8, 0.4), 0.95, 0.34, trained=0)).values()) == {"undecided"}


# --- features --------------------------------------------------------------------------------------------------------


def test_random_features_are_measured_and_not_judged(feature_rows: Rows) -> None:
    table = pl.concat([table_of(FEATURES, feature_rows, arm, range(5)) for arm in (CONCEPT, OTHER_NOISE)])
    judged = judge_all(FEATURES.claims, table, "local-scores", "sdxl-features", "smoke")
    assert {claim["note"] for claim in judged} == {"not measured: these are not SDXL's trained weights"}
    layers = {row["layer"] for row in feature_rows if row["instrument"] == "gap" and row["estimate"] == "halves"}
    assert len(layers) == 12 + 3
    assert {LATENT, PIXEL, TEXT} <= layers
    assert sum(row["instrument"] == "matrix" for row in feature_rows) == 3 * 6 * 8 * 8


def test_batches_do_not_matter(feature_rows: Rows) -> None:
    other = override(FEATURES_SMOKE, {"batch": 4}).rows()
    for one, two in zip(feature_rows, other, strict=True):
        assert one.get("layer") == two.get("layer")
        if one["instrument"] == "between" and one["estimate"] == "naive":
            assert one["value"] == pytest.approx(two["value"], abs=1e-3)


def test_shared_noise_is_the_same_for_all_prompts() -> None:
    pipeline = tiny_pipeline(0)
    prompts = pipeline.encode(["dog", "dog", "dog"])
    for shared in (True, False):
        config = override(FEATURES_SMOKE, {"shared_noise": shared})
        latent = dict(config.representations(pipeline, prompts, 1))[LATENT]
        assert torch.allclose(latent[0], latent[1], atol=1e-4) == shared


def test_averaged_tokens_are_short() -> None:
    pipeline = tiny_pipeline(0)
    prompts = pipeline.encode(["dog", "cat", ""])
    wide = dict(FEATURES_SMOKE.representations(pipeline, prompts, 0))
    short = dict(override(FEATURES_SMOKE, {"tokens": "averaged"}).representations(pipeline, prompts, 0))
    block = next(iter(pipeline.blocks))
    assert wide[block].shape == (3, 256 * 32)
    assert torch.allclose(wide[block].reshape(3, 256, 32).mean(1), short[block], atol=1e-5)


def feature_table(gaps: dict[str, float], ratios: dict[str, float], naive: float, split: float) -> pl.DataFrame:
    """Eight blocks down, two in the middle, eight up, all of a side alike."""
    blocks = [
        f"{side}_blocks.{number}" for side, count in (("down", 8), ("mid", 2), ("up", 8)) for number in range(count)
    ]
    every: dict[str, Any] = {"arm": [CONCEPT, OTHER_NOISE], "seed": range(5)}
    rows = rows_of(1.0, instrument=sdxl.TRAINED, **every)
    for depth, layer in enumerate([*blocks, LATENT, PIXEL, TEXT]):
        side = side_of(layer)
        found = {("halves", "gap"): gaps[side or layer], ("naive", "between"): naive, ("background", "between"): split}
        found |= {("naive", "ratio"): ratios[side]} if side in ratios else {}
        for (estimate, instrument), value in found.items():
            where = {"layer": layer, "side": side, "depth": depth, "estimate": estimate, "instrument": instrument}
            rows += rows_of(lambda row, value=value: value + 1e-4 * row["seed"], **where, **every)
    return make_table(rows, FEATURES.columns)


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
        (PIXELS, {"compared": ["left", "below"]}, "no place 'below'"),
        (
            PIXELS,
            {"places": [{"name": "left", "row": 0.5, "column": 0.1, "word": "cow"}]},
            "'cow' is the word of",
        ),
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
        override(FEATURES_SMOKE, {"step": 1000}).rows()


def test_figures_say_that_weights_are_random(pixel_rows: Rows, feature_rows: Rows) -> None:
    for drawing in drawn_of(PIXELS, table_of(PIXELS, pixel_rows, PROMPT), PIXELS_SMOKE).values():
        assert "RANDOM WEIGHTS" in words(drawing.figure)
    drawn = drawn_of(FEATURES, table_of(FEATURES, feature_rows, CONCEPT), FEATURES_SMOKE)
    assert all("RANDOM WEIGHTS" in words(drawing.figure) for drawing in drawn.values())
    assert all(estimate in words(drawn["estimates"].figure) for estimate in ESTIMATES)


def test_figures_are_drawn_from_any_part() -> None:
    for experiment, arm, config in ((PIXELS, PROMPT, PIXELS_SMOKE), (FEATURES, CONCEPT, FEATURES_SMOKE)):
        part = table_of(experiment, [{"instrument": sdxl.TRAINED, "value": 1.0}], arm)
        for drawing in drawn_of(experiment, part, config).values():
            assert "RANDOM WEIGHTS" not in words(drawing.figure)
