"""Lost losses, damaged files, full disks: one line each, and nothing else is lost."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from recombine.errors import RunFailed
from recombine.lab.execute.jobs import train_runs
from recombine.lab.store import RunFolder, Store
from recombine.runs.concept_graph import RunConfig
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.training.replica import Replica
from recombine.training.state import load_tensors
from support.jobs import FAST, assert_same, ignore

Finish = Callable[..., RunFolder]


def test_lost_weights_end_one_run_with_one_line_and_leave_the_rest_of_the_fleet(
    tiny: RunConfig, tiny_run: RunFolder, tmp_path: Path
) -> None:
    for rate in (1e30, 1e39):  # the loss goes first, the weights go first
        lost = override(tiny, {"training.rate": rate})
        root = tmp_path / str(rate)
        with pytest.raises(RunFailed, match=r"lower training\.rate") as failure:
            train_runs([lost, tiny], Store(root), FAST, ignore, save_seconds=0)
        assert "\n" not in str(failure.value)
        assert not Store(root).run(lost.address).done
        assert_same(Store(root).run(tiny.address), tiny_run)


def test_an_earlier_checkpoint_survives_a_loss_that_is_not_a_number(
    tiny: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, saved = Replica._step, []

    def poisoned(self: Replica) -> None:
        if self.images_seen == 128:
            self.parameters[0].data.fill_(float("nan"))
        whole(self)

    monkeypatch.setattr(Replica, "_step", poisoned)
    run = Store(tmp_path).run(tiny.address)
    with pytest.raises(RunFailed, match="became nan"):
        train_runs([tiny], Store(tmp_path), FAST, lambda n: saved.append(n.images_seen), save_seconds=0)
    tensors = load_tensors(run.checkpoint_path, run.address)
    assert 0 < int(tensors["seen"]) <= 128
    assert all(bool(torch.isfinite(t).all()) for t in tensors.values())


def test_a_damaged_run_does_not_keep_the_rest_of_the_fleet_from_training(
    tiny: RunConfig, tiny_run: RunFolder, tmp_path: Path
) -> None:
    other = tiny.replace(seeds=Seeds.all(1).model_dump())
    broken = Store(tmp_path).run(other.address)
    broken.write_config(other)
    broken.checkpoint_path.write_bytes(b"broken")
    with pytest.raises(RunFailed, match="is damaged"):
        train_runs([tiny, other], Store(tmp_path), FAST, ignore)
    assert broken.checkpoint_path.read_bytes() == b"broken"
    assert_same(Store(tmp_path).run(tiny.address), tiny_run)


@pytest.mark.parametrize("text", ["", "{}", '{"execution": {"device": "cpu", "warp": 9}}'])
def test_a_damaged_provenance_is_one_line(tiny: RunConfig, tmp_path: Path, text: str) -> None:
    run = Store(tmp_path).run(tiny.address)
    run.write_config(tiny)
    run.provenance_path.write_text(text)
    with pytest.raises(RunFailed, match=r"provenance\.json"):
        train_runs([tiny], Store(tmp_path), FAST, ignore)


@pytest.mark.parametrize("file", ["checkpoint.safetensors", "weights.safetensors", "done.json", "config.json"])
def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_space(
    tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path, file: str
) -> None:
    count, replace = [0], os.replace

    def full(source: Any, target: Any) -> None:
        count[0] += Path(target).name == file
        if Path(target).name == file and (file != "checkpoint.safetensors" or count[0] == 4):
            raise OSError(28, "No space left on device")
        replace(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(RunFailed, match="the disk is full") as failure:
            finish(tiny, tmp_path)
    run = Store(tmp_path).run(tiny.address)
    assert file in str(failure.value)
    assert "\n" not in str(failure.value)
    assert not list(run.path.glob(".*"))
    if file != "config.json":
        assert int(load_tensors(run.checkpoint_path, run.address)["seen"]) > 0
    assert_same(finish(tiny, tmp_path), tiny_run)


def test_a_disk_that_is_full_amid_the_rows_loses_none(
    tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path
) -> None:
    count, fsync = [0], os.fsync

    def full(handle: int) -> None:
        if os.readlink(f"/proc/self/fd/{handle}").endswith("measurements.jsonl"):
            count[0] += 1
            if count[0] == 3:
                os.ftruncate(handle, os.fstat(handle).st_size - 1000)  # what did not fit
                raise OSError(28, "No space left on device")
        fsync(handle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RunFailed, match="the disk is full"):
            finish(tiny, tmp_path)
    assert_same(finish(tiny, tmp_path), tiny_run)
