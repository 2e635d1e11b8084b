from pathlib import Path

import pytest
import torch

from recombine.denoisers.exact import EmpiricalDenoiser
from recombine.denoisers.network import NetworkDenoiser
from recombine.errors import UserError
from recombine.instruments.bumps.evaluation import LatticeEvaluation, measure_bumps
from recombine.instruments.bumps.label_losses import loss_rows
from recombine.instruments.bumps.subject import Sampling, Subject
from recombine.instruments.representations.learned_maps import map_rows
from recombine.lab.execute.jobs import train_runs
from recombine.lab.sheet import draw_from_run
from recombine.lab.store import Store
from recombine.runs.bumps import BumpsRun, read_place
from recombine.runs.kinds import read_run
from recombine.settings import build, override
from recombine.training.execution import Execution
from recombine.training.inference import FastDenoiser

SMALL = build(
    BumpsRun,
    {
        "world": {"pixels": 16, "pattern": "stripes", "margin": 4, "width": 0.75},
        "split": {"step": 1.0, "parts": ["2D", "1D"], "held_out": {"kind": "cross", "low": 7, "high": 10}},
        "network": {
            "channels": 8, "multipliers": [1, 1],
            "condition": {"entry": "positional", "where": "all", "hidden": 0, "width": 8, "mode": "add"},
        },
        "training": {"images": 128, "batch": 32},
        "evaluation": {"points": 2, "first": 64, "every": 2, "sampler": {"steps": 4}, "sheet_images": 2},
    },
)  # fmt: skip


def test_a_run_of_bumps_trains_measures_and_draws(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    train_runs([SMALL], store, Execution.plain("cpu"), lambda news: None)
    run = store.run(SMALL.address)
    assert run.done
    rows = run.rows()
    last = {(r["region"], r["instrument"]): r["value"] for r in rows if r["images_seen"] == 128}
    assert set(SMALL.groups()) == {"seen", "vertical arm", "horizontal arm", "intersection"}
    for region in (*SMALL.groups(), "all"):
        assert 0 <= last[region, "darkest.both"] <= min(last[region, "darkest.x"], last[region, "darkest.y"])
        parts = [last[region, f"objects.{what}"] for what in ("none", "one", "several")]
        assert sum(parts) == pytest.approx(1)
    right = {r["instrument"]: r["value"] for r in rows if r["region"] == "all" and r["images_seen"] == 0}
    assert right["calibration.darkest.both"] == right["calibration.fine.both"] == 1
    assert read_run(run.config()) == SMALL
    out = draw_from_run(run, ["x=3,y=9"], 3, tmp_path / "sheet.png")
    assert out.stat().st_size > 0


def test_an_exact_denoiser_answers_with_the_nearest_label() -> None:
    """The pattern that the paper reads as composing without interpolating, from a machine that does neither."""
    run = override(SMALL, {"split.step": 0.25, "split.parts": ["2D"], "evaluation.every": 1})
    labels = run.split.labels(run.world, 0)
    machine = EmpiricalDenoiser(run.world.render(labels), labels, kernel_width=0.08)
    how = override(run.evaluation, {"sampler.steps": 12}).sampler
    sampling = Sampling(machine.denoise, how, run.schedule, run.world, 0, torch.device("cpu"))
    rows, images = measure_bumps(sampling, run.evaluation, run.split)
    found = {(r["region"], r["instrument"]): r["value"] for r in rows}
    assert found["seen", "darkest.both"] == 1
    assert found["vertical arm", "darkest.y"] == found["horizontal arm", "darkest.x"] == 1
    assert found["vertical arm", "darkest.x"] == found["horizontal arm", "darkest.y"] == 0.5  # 7 and 10 of 7 to 10
    assert found["intersection", "darkest.both"] == 0.25
    assert images.shape == (4, 2, 3, 16, 16)


def test_a_label_is_sampled_alike_in_any_company() -> None:
    sparse, dense = (override(SMALL, {"evaluation.every": every}) for every in (4, 2))
    shown = {}
    for run in (sparse, dense):
        labels = run.evaluation.places(run.world)
        condition, key = run.prompts([f"x={x - 4},y={y - 4}" for x, y in labels.tolist()], 1)
        shown[run.evaluation.every] = dict(zip(map(tuple, condition.tolist()), key.tolist(), strict=True))
    assert shown[4].items() <= shown[2].items()
    assert len(set(shown[2].values())) == len(shown[2])


@pytest.mark.parametrize("text", ["16,8", "x=16", "x=a,y=3", "11"])
def test_a_place_is_two_numbers(text: str) -> None:
    with pytest.raises(UserError, match=r"as in x=16,y=8\.5"):
        read_place(text)


def test_a_hold_out_that_leaves_nothing_is_refused_before_anything_is_written() -> None:
    with pytest.raises(UserError, match="leaves no label"):
        override(SMALL, {"split.parts": ["2D"], "split.held_out": {"kind": "cross", "low": 0.0, "high": 16.0}}).check()


class Blind(torch.nn.Module):
    """Predicts no noise at all: its loss is the mean square of the noise, 1."""

    def forward(self, x: torch.Tensor, level: torch.Tensor, condition: torch.Tensor | None = None) -> torch.Tensor:
        return torch.zeros_like(x) + 0 * self.unused

    def __init__(self) -> None:
        super().__init__()
        self.unused = torch.nn.Parameter(torch.zeros(()))


def subject_of(run: BumpsRun, model: NetworkDenoiser) -> Subject:
    sampler = FastDenoiser(model, Execution.plain("cpu"))
    return Subject(sampler, run.schedule, run.world, run.split, run.seeds, run.training, run.training.total, run.model)


def test_losses_are_split_by_what_was_trained_on() -> None:
    lattice = {"world.pattern": "bump", "world.margin": 0.0, "split.held_out": None, "split.parts": ["2D"]}
    half = override(SMALL, {**lattice, "split.share": 0.5})
    known = {(r["region"], r["instrument"]): r["value"] for r in loss_rows(
        subject_of(half, NetworkDenoiser(Blind(), "noise")), half.world.centres(), 4)}  # fmt: skip
    assert known == {("known", "loss"): pytest.approx(1, abs=0.02), ("new", "loss"): pytest.approx(1, abs=0.02)}
    whole = override(SMALL, lattice)
    rows = loss_rows(subject_of(whole, NetworkDenoiser(Blind(), "noise")), whole.world.centres(), 2)
    assert [row["region"] for row in rows] == ["known"]  # nothing is new


def test_a_map_has_every_second_place_beside_the_untrained_block(tmp_path: Path) -> None:
    closing = {"kind": "bumps-lattice", "map": {"block": "up.0", "every": 4}, "losses": 2}
    run = override(SMALL, {"evaluation": {**SMALL.evaluation.model_dump(), **closing}})
    assert isinstance(run.evaluation, LatticeEvaluation)
    assert run.evaluation.map is not None
    store = Store(tmp_path)
    train_runs([run], store, Execution.plain("cpu"), lambda news: None)
    rows = store.run(run.address).rows()
    maps = [r for r in rows if r["instrument"] == "map"]
    assert {r["images_seen"] for r in maps} == {128}  # at the end alone
    assert len(maps) == 16 * 3
    assert {(r["x"], r["y"]) for r in maps} == {(x, y) for x in (1, 5, 9, 13) for y in (1, 5, 9, 13)}
    assert {r["coordinate"] for r in maps} == {1, 2, 3}
    shares = {(r["block"], r.get("trained")): r["value"] for r in rows if r["instrument"] == "neighbours"}
    assert set(shares) == {("up.0", True), ("up.0", False), ("pixels", None)}
    assert all(0 <= value <= 1 for value in shares.values())
    assert [r["region"] for r in rows if r["instrument"] == "loss"] == ["known", "new"]
    untrained = map_rows(subject_of(run, run.model()), run.evaluation.map, run.evaluation.sampler)
    assert untrained[0]["value"] == untrained[1]["value"]  # before training the block is the untrained one


def test_labels_trained_on_and_others_have_rows_for_themselves() -> None:
    """The exact denoiser of half of a lattice is right for all labels of its set, and for no other."""
    lattice = {"world.pattern": "bump", "world.margin": 0.0, "split.held_out": None, "split.parts": ["2D"]}
    run = override(SMALL, {**lattice, "split.share": 0.5, "evaluation.every": 1, "evaluation.sampler.steps": 12})
    labels = run.split.labels(run.world, run.seeds.data)
    machine = EmpiricalDenoiser(run.world.render(labels), labels, kernel_width=0.08)
    rows, _ = run.measure(machine.denoise, run.evaluation.sampler, torch.device("cpu"), "")
    found = {r["region"]: r["value"] for r in rows if r["instrument"] == "darkest.both"}
    assert (found["known"], found["new"], found["all"]) == (1, 0, 0.5)
    whole, _ = override(run, {"split.share": 1.0}).measure(
        machine.denoise, run.evaluation.sampler, torch.device("cpu"), ""
    )
    assert "known" not in {r["region"] for r in whole}
