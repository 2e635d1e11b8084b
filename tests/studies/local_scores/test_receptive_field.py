"""How local a score must be: arms have the radii they are called by, and the rules separate labels from pixels."""

import polars as pl
import pytest
import torch

from recombine.denoisers.configs import LocalConfig
from recombine.instruments.scenes.counting import CHANCE, RECALL
from recombine.lab.claims import judge_all
from recombine.lab.table import make_table
from recombine.runs.local_machine import LocalMachineConfig
from recombine.runs.scenes import ScenesRun
from recombine.studies import EXPERIMENTS
from recombine.studies.local_scores._shared.label_recall import longest
from recombine.studies.local_scores.receptive_field.claims import (
    ABOVE,
    ALIKE,
    BELOW,
    machine_beside,
    radii_arm,
    radii_of,
)
from recombine.studies.local_scores.receptive_field.experiment import BORDER, FULL
from support.pictures import render, words

LENGTH, EXPERIMENT = EXPERIMENTS["local-scores/length"], EXPERIMENTS["local-scores/receptive-field"]
COUNTS = (1, 2, 3, 4, 6, 8, 10, 12)
RADII = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (6, 6), (2, 1), (2, 4), (2, 8), (0, 2), (1, 2), (4, 2), (6, 2)]


def table_of(reach: dict[str, float], seeds: int = 5) -> pl.DataFrame:
    """Arm -> number of labels up to which recall is high; it falls from there on. Chance is 0; seeds differ."""
    return make_table(
        [
            {"arm": arm, "seed": seed, "labels": k, "instrument": instrument, **of_arm(arm),
             "value": (instrument == RECALL) * max(0.0, 0.97 - 1e-3 * seed - max(0, k - last) / 8)}
            for arm, last in reach.items()
            for k in COUNTS
            for seed in range(seeds)
            for instrument in (RECALL, CHANCE)
        ],
        EXPERIMENT.columns,
    )  # fmt: skip


def of_arm(arm: str) -> dict[str, object]:
    """The columns of an arm, those of by noise without radii."""
    pairs = {name(radii_arm(*pair)): pair for pair in RADII for name in (str, machine_beside)}
    pixels, labels = pairs.get(arm, (None, None))
    return {"training_free": arm.startswith("machine"), "pixel_radius": pixels, "label_radius": labels}


def with_machines(reach: dict[str, float]) -> dict[str, float]:
    return reach | {machine_beside(arm): last for arm, last in reach.items()}


def verdicts(table: pl.DataFrame) -> dict[str, str]:
    return {c["claim"]: c["verdict"] for c in judge_all(EXPERIMENT.claims, table, "local-scores", "dose", "full")}


BY_LABELS = with_machines(  # the label receptive field decides, at high noise
    {radii_arm(r, k): 0 if k < 1 else 12 - 1.2 * k - 0.1 * r for r, k in RADII} | {ALIKE: 10, ABOVE: 9, BELOW: 3}
)
BY_PIXELS = with_machines(  # the pixel receptive field decides, at low noise
    {radii_arm(r, k): 12 - 1.2 * r for r, k in RADII} | {ALIKE: 8, ABOVE: 1, BELOW: 10}
)


def test_conditions_that_decide_at_high_noise_hold_every_claim() -> None:
    assert set(verdicts(table_of(BY_LABELS)).values()) == {"holds"}


def test_pixels_that_decide_refute_every_claim_but_that_machines_know() -> None:
    found = verdicts(table_of(BY_PIXELS))
    assert {found.pop(name) for name in ("DS4", "DS6")} == {"holds"}  # both receptive fields grow in DS4
    assert set(found.values()) == {"fails"}


def test_machines_that_rank_radii_the_other_way_round_do_not_predict() -> None:
    wrong = {arm: 14 - last if arm.startswith("machine") else last for arm, last in BY_LABELS.items()}
    assert verdicts(table_of(wrong))["DS6"] == "fails"
    flat = {arm: 12.0 if arm.startswith("machine") else last for arm, last in BY_LABELS.items()}
    same = table_of(flat).with_columns(
        value=pl.when(pl.col("arm").str.starts_with("machine")).then(0.9).otherwise(pl.col("value"))
    )
    assert verdicts(same)["DS6"] == "fails"


def test_what_was_not_measured_is_not_judged() -> None:
    some = {arm: last for arm, last in BY_LABELS.items() if "labels 8" not in arm}
    found = judge_all(EXPERIMENT.claims, table_of(some), "local-scores", "dose", "full")
    undecided = {claim["claim"]: claim["note"] for claim in found if claim["verdict"] == "undecided"}
    assert undecided.keys() == {"DS1", "DS1b", "DS3", "DS7", "DS8a", "DS8c"}
    assert undecided["DS1"] == "arm pixels 2 labels 8 was not measured"
    assert set(verdicts(table_of(BY_LABELS, seeds=4)).values()) == {"undecided"}
    assert verdicts(table_of(dict.fromkeys((radii_arm(2, 2), radii_arm(1, 1)), 9)))["DS6"] == "undecided"


def test_networks_that_were_not_trained_enough_are_not_compared() -> None:
    poor = table_of(BY_LABELS).with_columns(
        value=pl.when((pl.col("arm") == "pixels 6 labels 2") & (pl.col("labels") == 1)).then(0.14).otherwise("value")
    )
    found = judge_all(EXPERIMENT.claims, poor, "local-scores", "dose", "full")
    undecided = {claim["claim"]: claim["note"] for claim in found if claim["verdict"] == "undecided"}
    assert undecided.keys() == {"DS2", "DS3", "DS8b", "DS8c"}
    assert "single labels of pixels 6 labels 2 is 0.14" in undecided["DS8b"]


def test_k_max_follows_from_the_recall() -> None:
    assert longest(table_of({"some": 6}), "some") == dict.fromkeys(range(5), 6)


@pytest.mark.parametrize("budget", ["smoke", "laptop", "full"])
def test_arms_have_the_radii_they_are_called_by(budget: str) -> None:
    arms = EXPERIMENT.budgets[budget].arms  # type: ignore[index]
    columns = EXPERIMENT.arm_columns(arms)
    for arm, work in arms.items():
        work.check()
        if isinstance(work, LocalMachineConfig):
            beside = arms[arm.removeprefix("machine ")]
            assert isinstance(beside, ScenesRun)
            assert isinstance(beside.network, LocalConfig)
            assert work.receptive_fields.radius == beside.network.radius
            assert work.receptive_fields.label_radius == beside.network.labels_within
            assert work.receptive_fields.by_noise == beside.network.by_noise
            assert (work.world, work.labels) == (beside.world, beside.labels)
            assert work.split.objects == beside.split.objects == (1, 2, 3)
        else:
            assert isinstance(work, ScenesRun)
            assert isinstance(work.network, LocalConfig)
            assert work.labels.labelled == "one"
            named = arm == radii_arm(work.network.radius, work.network.labels_within)
            assert named == (not work.network.by_noise) == (columns[arm]["pixel_radius"] is not None)
    assert len({work.address for work in arms.values()}) == len(arms)


def test_full_has_every_pair_of_radii_and_large_patches_have_fewer_layouts() -> None:
    arms = EXPERIMENT.budgets["full"].arms
    assert {radii_arm(*pair) for pair in RADII} < set(arms)
    assert radii_of(table_of(BY_LABELS)) == {radii_arm(*pair): pair for pair in RADII}
    small, large = arms[radii_arm(2, 8)], arms[radii_arm(6, 2)]
    assert isinstance(small, ScenesRun)
    assert isinstance(large, ScenesRun)
    assert large.evaluation.layouts < small.evaluation.layouts == FULL.evaluation.layouts


def test_by_noise_labels_are_near_where_the_arm_says() -> None:
    arms = EXPERIMENT.budgets["full"].arms
    high, low = BORDER * 1.5, BORDER / 1.5
    for arm, near in ((ALIKE, (True, True)), (ABOVE, (True, False)), (BELOW, (False, True))):
        run = arms[arm]
        assert isinstance(run, ScenesRun)
        network = run.fresh_network()
        level = torch.tensor([high, low]).log() / 4
        assert [radius == 2 for radius in network._radii(level)[1].tolist()] == list(near)


def test_at_laptop_the_first_network_is_that_of_length() -> None:
    first = next(iter(EXPERIMENT.budgets["laptop"].arms.values()))
    assert first.address == LENGTH.budgets["laptop"].arms["2L 1-3"].address


def test_the_figure_shows_all_sweeps_and_is_drawn_from_any_part() -> None:
    config = EXPERIMENT.budgets["full"].arms[radii_arm(2, 2)]
    drawn = EXPERIMENT.draw(table_of(BY_LABELS), config)
    figure = drawn["figure"].figure
    assert [list(axes.get_xticks()) for axes in figure.axes[:3]] == [[0, 1, 2, 3, 4, 6], [1, 2, 4, 8], [0, 1, 2, 4, 6]]
    assert "n = 5 seeds" in words(figure)
    heights = [bar.get_height() for bar in drawn["k-max"].figure.axes[3].patches if bar.get_height()]
    assert heights[:4] == [10, 8, 3, 2]
    part = EXPERIMENT.draw(table_of({radii_arm(3, 3): 4}, seeds=1), config)["figure"].figure
    assert "not measured" in words(part)
    assert render(part)
