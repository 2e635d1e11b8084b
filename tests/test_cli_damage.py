"""The command line on damaged files, lost losses and full disks: one line each, nothing lost."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from recombine.files import read_rows
from recombine.lab.execute import workers
from recombine.lab.execute.jobs import train_runs
from recombine.lab.experiment import make_plan
from recombine.lab.store import RunFolder, Store
from recombine.runs.concept_graph import RunConfig
from recombine.studies import EXPERIMENTS
from recombine.training.execution import Execution
from recombine.training.state import load_tensors
from support.commands import NAME, SETS, SMOKE, TINY, Call, assert_refused, listing, only_run

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]


@pytest.fixture
def begun(tiny: RunConfig, tmp_path: Path) -> RunFolder:
    """A run that was stopped half-way, in a store of its own."""

    def stop(news: Any) -> None:
        if news.images_seen >= 100:
            raise KeyboardInterrupt

    store = Store(tmp_path / "store")
    with pytest.raises(KeyboardInterrupt):
        train_runs([tiny], store, Execution.fastest("cpu"), stop, save_seconds=0)
    return store.run(tiny.address)


def test_the_sets_of_this_file_make_the_tiny_run(tiny: RunConfig) -> None:
    assert make_plan(EXPERIMENT, "smoke", 1, TINY).runs[0].config == tiny


@pytest.mark.parametrize("keep", [0, 4, 500, -1])
def test_a_truncated_checkpoint(call: Call, begun: RunFolder, tmp_path: Path, keep: int) -> None:
    begun.checkpoint_path.write_bytes(begun.checkpoint_path.read_bytes()[:keep])
    before = listing(begun.path)
    answer = call(*SMOKE, *SETS, "--no-report", "--store", tmp_path / "store")
    assert_refused(answer, 1, "checkpoint", str(begun.checkpoint_path), "move")
    assert listing(begun.path) == before


def test_a_checkpoint_of_another_run(call: Call, begun: RunFolder, smoke_store: Path, tmp_path: Path) -> None:
    other = only_run(smoke_store)
    shutil.copy(other.checkpoint_path, begun.checkpoint_path)
    before = listing(begun.path)
    answer = call(*SMOKE, *SETS, "--no-report", "--store", tmp_path / "store")
    assert_refused(answer, 1, f"belongs to run {other.address}", begun.address)
    assert listing(begun.path) == before


@pytest.mark.parametrize("file", ["config.json", "measurements.jsonl", "provenance.json"])
def test_a_damaged_file_of_a_begun_run(call: Call, begun: RunFolder, tmp_path: Path, file: str) -> None:
    (begun.path / file).write_text('{"half\n{"half\n{"half\n')
    before = listing(begun.path)
    assert_refused(call(*SMOKE, *SETS, "--no-report", "--store", tmp_path / "store"), 1, str(begun.path / file))
    assert listing(begun.path) == before


@pytest.mark.parametrize("file", ["config.json", "measurements.jsonl", "provenance.json", "done.json"])
@pytest.mark.usefixtures("quick_figures")
def test_a_damaged_file_of_a_finished_run(call: Call, smoke_copy: Path, file: str) -> None:
    run = only_run(smoke_copy)
    (run.path / file).write_text('{"half\n{"half\n{"half\n')
    before = listing(run.path)
    if file == "config.json":
        assert_refused(call("sample", run.address, "--store", smoke_copy), 1, str(run.path / file))
    else:
        assert_refused(call("report", NAME, "--budget", "smoke", "--store", smoke_copy), 1, str(run.path / file))
    assert listing(run.path) == before


def test_damaged_claims(call: Call, smoke_copy: Path) -> None:
    [path] = smoke_copy.glob("experiments/*/*/*/claims.json")
    path.write_text("[{")
    assert_refused(call("claims", "--store", smoke_copy), 1, str(path))


def test_a_sample_of_a_run_that_is_not_finished(call: Call, begun: RunFolder, tmp_path: Path) -> None:
    answer = call("sample", begun.address[:6], "--store", tmp_path / "store", "--out", tmp_path / "a.png")
    assert_refused(answer, 2, "not finished", "resumes")
    assert not (tmp_path / "a.png").exists()


def test_a_loss_that_is_not_a_number(call: Call, tmp_path: Path) -> None:
    answer = call(*SMOKE, *SETS, "--set", "training.rate=1e30", "--store", tmp_path)
    assert_refused(answer, 1, "the loss became", "lower training.rate")
    assert not only_run(tmp_path).done
    assert not (tmp_path / "experiments").exists()


def test_a_full_disk(call: Call, tiny_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (*SMOKE, *SETS, "--no-report", "--store", tmp_path)
    monkeypatch.setattr(workers, "train_runs", partial(train_runs, save_seconds=0))
    count, replace = [0], os.replace

    def full(source: Any, target: Any) -> None:
        count[0] += Path(target).name == "checkpoint.safetensors"
        if count[0] == 3:
            raise OSError(28, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert_refused(call(*words), 1, "the disk is full", "same command again")
    run = only_run(tmp_path)
    assert int(load_tensors(run.checkpoint_path, run.address)["seen"]) > 0
    assert call(*words).status == 0
    assert run.weights_path.read_bytes() == tiny_run.weights_path.read_bytes()
    assert run.measurements_path.read_bytes() == tiny_run.measurements_path.read_bytes()


def test_seeds_in_processes_are_the_seeds_one_by_one_and_a_failing_one_stops_nobody(
    call: Call, tiny_run: RunFolder, finish: Callable[..., RunFolder], tmp_path: Path
) -> None:
    """Three seeds on two workers; seed 1 has a damaged checkpoint: the others are trained to their end."""
    planned = make_plan(EXPERIMENT, "smoke", 3, TINY).runs
    store = Store(tmp_path / "pool")
    broken = store.run(planned[1].address)
    broken.write_config(planned[1].config)
    broken.checkpoint_path.write_bytes(b"broken")
    answer = call(*SMOKE, *SETS, "--seeds", 3, "--workers", 2, "--store", store.root)
    assert_refused(answer, 1, "is damaged")
    for alone in (tiny_run, finish(planned[2].config, tmp_path / "alone")):
        together = store.run(alone.address)
        assert together.done
        for name in ("measurements.jsonl", "weights.safetensors"):
            assert (alone.path / name).read_bytes() == (together.path / name).read_bytes()
        assert [row["event"] for row in read_rows(together.log_path)] == ["started", "saved"]
    assert broken.checkpoint_path.read_bytes() == b"broken"
    assert not (store.root / "experiments").exists()


# Answers
