"""Locality: verdicts and figures on tables made by hand, and the exact machines."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recombine.instruments.locality.evaluation import LocalityProbe, locality_rows
from recombine.instruments.scenes.counting import RECALL
from recombine.lab.claims import judge_all
from recombine.lab.samples import Samples
from recombine.lab.store import Store
from recombine.lab.table import make_table
from recombine.runs.local_machine import MachineLocality
from recombine.runs.scenes import ScenesRun
from recombine.studies import EXPERIMENTS
from recombine.studies.local_scores.length.claims import WHOLE
from recombine.studies.local_scores.locality import figures as figures_locality
from recombine.studies.local_scores.locality.claims import GLOBAL_MACHINE, LOCAL_MACHINE
from recombine.studies.local_scores.locality.experiment import MACHINES, SMOKE_MACHINES
from recombine.training.state import save_tensors
from support.pictures import render

LENGTH, EXPERIMENT = EXPERIMENTS["local-scores/length"], EXPERIMENTS["local-scores/locality"]
SIGMAS = (60.0, 20.0, 6.0, 1.5, 0.4, 0.1, 0.02, 0.004)
ARMS = {"1": "1 1-3", "2": "2 1-3", "3": "3 1-3", "2L": "2L 1-3", "3L": "3L 1-3", "whole": WHOLE}
PAPER = {  # C and P of each experiment as the paper has it, in words
    "1 1-3": (0.85, 0.9), "2 1-3": (0.4, 0.88), "3 1-3": (0.45, 0.6), "2L 1-3": (1.0, 0.97), "3L 1-3": (1.0, 0.97),
    WHOLE: (0.5, 0.8), "1 channel 1-3": (0.9, 0.8), "2 channel 1-3": (0.9, 0.8), "3 fixed 1-3": (0.4, 0.6),
    LOCAL_MACHINE: (1.0, 0.97), GLOBAL_MACHINE: (0.5, 0.4),
}  # fmt: skip
ALIKE = dict.fromkeys(PAPER, (0.5, 0.7))


def table(levels: dict[str, tuple[float, float]], seeds: int = 5, singles: float = 0.95) -> pl.DataFrame:
    """C and P of each arm at the end, a little noise for each seed; half of it early in training."""
    rows = []
    for number, (arm, (c, p)) in enumerate(levels.items()):
        for seed in range(seeds):
            rng = np.random.default_rng(100 * number + seed)
            exact, machine = c == 1, arm.startswith("machine")
            for seen in (0,) if machine else (10_000, 30_000):
                part = 1.0 if exact or machine or seen == 30_000 else 0.5
                own_c, own_p = (c, p) if exact else (part * c + rng.normal(0, 0.015), part * p + rng.normal(0, 0.01))
                found: dict[tuple[str, float | None, int | None], float | None] = {}
                for how in ("removed", "moved") if machine else ("removed", "moved", "gradient"):
                    found[f"conditions.{how}.C", None, None] = own_c
                    for sigma in SIGMAS:
                        tilt = 0 if exact else 0.06 * np.tanh(np.log10(sigma))
                        found[f"conditions.{how}.C", sigma, None] = own_c + tilt if sigma > 0.01 else None
                        found[f"conditions.{how}.total", sigma, None] = min(sigma, 1.0) ** 1.8
                        found["pixels.P", sigma, 2] = min(1.0, own_p - 0.1 * np.tanh(np.log10(sigma)))
                for chance_of in ("C", "gradient.C"):
                    found[f"conditions.{chance_of}.chance", None, None] = 0.27
                found["pixels.half radius", None, None] = 2 * (1 - own_p) + 0.4
                found["pixels.beyond", None, None] = 0.0 if exact else 0.5 * (1 - own_p)
                for r, (share, chance) in {1: (0.7, 0.02), 2: (1, 0.06), 4: (1.05, 0.2)}.items():
                    found["pixels.P", None, r] = min(1.0, own_p * share)
                    found["pixels.P.chance", None, r] = chance
                at = {"arm": arm, "seed": seed, "images_seen": None if machine else seen}
                rows += [{**at, "sigma": sigma, "radius": radius, "instrument": f"locality.{name}", "value": value}
                         for (name, sigma, radius), value in found.items()]  # fmt: skip
                rows.append({**at, "labels": 1, "instrument": RECALL, "value": singles})
    return make_table(rows, EXPERIMENT.columns)


def verdicts(found: pl.DataFrame) -> dict[str, str]:
    return {
        claim["claim"]: claim["verdict"]
        for claim in judge_all(EXPERIMENT.claims, found, "local-scores", "locality", "full")
    }


def test_a_table_like_the_paper_holds_throughout() -> None:
    assert set(verdicts(table(PAPER)).values()) == {"holds"}


def test_models_that_learnt_nothing_prove_nothing() -> None:
    found = verdicts(table(PAPER, singles=0.2))
    assert {found[name] for name in ("LC1a", "LC1b", "LC1e", "LC2a", "LC2b", "LC2c", "LC6", "LC7c")} == {"undecided"}


def test_models_that_are_all_alike_fail() -> None:
    found = verdicts(table(ALIKE))
    for claim in ("LC1a", "LC1b", "LC1c", "LC1e", "LC2a", "LC4a", "LC4b", "LC4c", "LC4d", "LC5a", "LC5b", "LC6"):
        assert found[claim] == "fails", claim
    assert "holds" not in (found["LC3a"], found["LC3b"])
    turned = PAPER | {"1 1-3": PAPER["3 1-3"], "2 1-3": (0.8, 0.5), "3 1-3": (0.8, 0.9)}
    found = verdicts(table(turned))
    for claim in ("LC1a", "LC1b", "LC2a", "LC2b", "LC2c", "LC3a", "LC3b"):
        assert found[claim] == "fails", claim


def test_what_was_not_measured_and_few_seeds_are_undecided() -> None:
    few = verdicts(table(PAPER, seeds=3))
    assert set(few.values()) == {"undecided"}
    only = verdicts(table({"1 1-3": PAPER["1 1-3"]}))
    assert only["LC2a"] == "holds"
    assert only["LC1a"] == only["LC5a"] == "undecided"


def test_a_hair_outside_of_the_patch_is_seen() -> None:
    one = (pl.col("instrument") == "locality.pixels.beyond") & (pl.col("arm") == "2L 1-3") & (pl.col("seed") == 3)
    found = table(PAPER).with_columns(
        pl.when(one).then(1e-9).otherwise(pl.col("value")).alias("value")
    )  # fmt: skip
    assert verdicts(found)["LC4c"] == "fails"
    assert verdicts(found)["LC4d"] == "holds"


def test_figures_say_what_they_show_and_what_is_missing() -> None:
    found = table(PAPER)
    figure = figures_locality.over_noise(found)
    assert [axes.get_title(loc="left").split("\n")[0] for axes in figure.axes] == [
        "pixel locality", "conditional locality", "how much labels matter",
    ]  # fmt: skip
    assert "Exp 1 0.86, Exp 2 0.41" in figure.axes[1].get_title(loc="left")
    assert len(figure.legends[0].get_texts()) == 6
    bars = figures_locality.means(found).axes[1]
    assert [text.get_text() for text in bars.get_xticklabels()][-1] == "machine\nglobal"
    heights = [round(bar.get_height(), 6) for bar in bars.patches]
    assert heights.count(1.0) == 8  # 2L and 3L by three ways, the machine by two
    empty = found.filter(pl.col("arm") == "none")
    assert "not measured" in figures_locality.over_noise(empty).axes[0].texts[0].get_text()
    assert "not measured" in figures_locality.means(empty).axes[0].texts[0].get_text()


@pytest.mark.parametrize("name", [LOCAL_MACHINE, GLOBAL_MACHINE])
def test_exact_machines_have_the_locality_they_are_built_with(name: str) -> None:
    machine = MACHINES[name].overridden({"probe.prompts": 4, "probe.gradients": 4})
    assert isinstance(machine, MachineLocality)
    found = {(row["instrument"], row["sigma"]): row["value"] for row in machine.rows()}
    c, beyond = found["locality.conditions.removed.C", None], found["locality.pixels.beyond", None]
    if name == LOCAL_MACHINE:
        assert c == pytest.approx(1, abs=1e-6)
        assert beyond == 0
    else:
        assert c < 0.8
        assert beyond > 0.3


def test_untrained_networks_of_the_smoke_budget_go_all_the_way() -> None:
    """They answer without regard to labels: C has no value, and everything still stands."""
    probe, rows = LocalityProbe(prompts=1, levels=2, reach=1, gradients=1, local_gradients=1), []
    for arm, work in EXPERIMENT.budgets["smoke"].arms.items():
        if isinstance(work, ScenesRun):
            model = work.model().eval().requires_grad_(False)
            found = locality_rows(model, probe, work.sampling(model.denoise, "cpu"))
        else:
            assert isinstance(work, MachineLocality)
            found = work.rows()
        rows += [{"arm": arm, "seed": 0, **row} for row in found]
    made = make_table(rows, EXPERIMENT.columns)
    assert made["arm"].n_unique() == 15
    judged = {
        claim["claim"]: claim for claim in judge_all(EXPERIMENT.claims, made, "local-scores", "locality", "smoke")
    }
    assert {claim["verdict"] for claim in judged.values()} == {"undecided"}
    assert judged["LC4c"]["estimate"] == judged["LC5a"]["estimate"] == 1
    assert all(figure.figure.axes for figure in EXPERIMENT.draw(made, None).values())


def test_runs_are_those_of_length() -> None:
    for budget in ("smoke", "laptop", "full"):
        shared, own = LENGTH.budgets[budget].arms, EXPERIMENT.budgets[budget].arms
        models = {arm: work.address for arm, work in own.items() if not arm.startswith("machine")}
        assert models.items() <= {arm: work.address for arm, work in shared.items()}.items()
        assert EXPERIMENT.budgets[budget].seeds == LENGTH.budgets[budget].seeds
        assert {LOCAL_MACHINE, GLOBAL_MACHINE} <= own.keys()
    assert set(ARMS.values()) <= EXPERIMENT.budgets["full"].arms.keys()


def test_machines_stay_as_they_are_when_networks_are_changed() -> None:
    machine = SMOKE_MACHINES[LOCAL_MACHINE]
    assert isinstance(machine, MachineLocality)
    assert machine.following({"labels.form": "list"}).address == machine.address


def test_maps_show_the_models_whose_weights_are_at_hand(tmp_path: Path) -> None:
    arms, kept = EXPERIMENT.budgets["smoke"].arms, {}
    for arm in ("1 1-3", "2L 1-3", "3 1-3"):
        run = arms[arm]
        assert isinstance(run, ScenesRun)
        folder = Store(tmp_path).run(run.address)
        folder.path.mkdir(parents=True)
        kept[arm] = Samples(run, 0, {}, folder)
        if arm != "3 1-3":
            save_tensors(folder.weights_path, run.model().state_dict(), run.address)
    figure = figures_locality.sheets(kept)["maps"].figure
    assert [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()] == ["Exp 1", "Exp 2L"]
    assert render(figure)
    assert figures_locality.sheets({"3 1-3": kept["3 1-3"]}) == {}
