"""Runs that begin with the last weights of another."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from recombine.errors import RunFailed
from recombine.lab.execute.jobs import train_runs
from recombine.lab.store import RunFolder, Store
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.training.replica import Replica
from recombine.training.state import load_tensors
from support.jobs import FAST, assert_same, events, ignore, stop_after

Finish = Callable[..., RunFolder]


@pytest.fixture
def rooted(tiny_run: RunFolder, tmp_path: Path) -> Callable[[str], Path]:
    """A new store that holds the tiny run, finished."""

    def make(name: str) -> Path:
        shutil.copytree(tiny_run.path, tmp_path / name / "runs" / tiny_run.address)
        return tmp_path / name

    return make


Rooted = Callable[[str], Path]


@pytest.fixture
def child(tiny: RunConfig) -> RunConfig:
    """A run on another class from the last weights of the tiny one, with other seeds than that had."""
    changes = {"split.train": ["111"], "training.images": 128, "seeds.init": 7, "seeds.order": 8}
    return override(tiny, changes).replace(start=tiny.model_dump())


def test_a_child_begins_with_the_last_weights_of_its_start(
    tiny_run: RunFolder, child: RunConfig, finish: Finish, rooted: Rooted, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[dict[str, torch.Tensor]] = []
    step = Replica.step

    def looked_at(self: Replica) -> None:
        if self.images_seen == 0:
            begun.append({name: tensor.clone() for name, tensor in self.tensors().items()})
        step(self)

    monkeypatch.setattr(Replica, "step", looked_at)
    run = finish(child, rooted("store"))
    [tensors], expected = begun, load_tensors(tiny_run.weights_path, tiny_run.address)
    for name, tensor in expected.items():
        assert torch.equal(tensors[f"model.{name}"], tensor), name
        assert not tensor.is_floating_point() or torch.equal(tensors[f"average.{name}"], tensor), name
    assert all(not tensor.any() for name, tensor in tensors.items() if name.startswith("adam.") or name == "seen")
    ended = load_tensors(run.weights_path, run.address)
    assert any(not torch.equal(ended[name], expected[name]) for name in expected)  # it did learn


def test_where_nothing_is_learned_a_child_reads_as_its_start_did(
    tiny_run: RunFolder, child: RunConfig, finish: Finish, rooted: Rooted
) -> None:
    still = override(child, {"training.rate": 1e-30, "training.ema_images": 0, "evaluation.audit": None})
    run = finish(still, rooted("store"))

    def measured(of: RunFolder, seen: int) -> list[dict[str, Any]]:
        rows = [row for row in of.rows() if row["images_seen"] == seen and "sampler" not in row]
        return [{key: value for key, value in row.items() if key not in ("images_seen", "distance")} for row in rows]

    assert measured(run, 128) == measured(run, 32) == measured(tiny_run, 256)
    assert len(measured(run, 32)) > 100
    distances = {row["node"]: row["distance"] for row in run.rows() if row["instrument"] == "reader.product"}
    assert (distances["111"], distances["000"]) == (0, 3)  # from its own classes, not from those of its start


@pytest.mark.parametrize("seen", [16, 64])
def test_a_child_that_was_stopped_ends_as_if_it_had_never_stopped(
    tiny_run: RunFolder, child: RunConfig, finish: Finish, rooted: Rooted, seen: int
) -> None:
    whole, root = finish(child, rooted("whole")), rooted("stopped")
    stopped = stop_after(child, root, seen)
    assert not stopped.done
    assert 0 < int(load_tensors(stopped.checkpoint_path, stopped.address)["seen"]) < 128
    assert_same(finish(child, root), whole)
    assert events(stopped).count("started") == events(stopped).count("resumed") == 1
    assert_same(Store(root).run(tiny_run.address), tiny_run)


@pytest.mark.parametrize("lost", ["weights.safetensors", "done.json", ""], ids=["weights", "unfinished", "everything"])
def test_without_the_weights_of_its_start_a_child_is_one_line_and_the_rest_is_trained(
    tiny: RunConfig, tiny_run: RunFolder, child: RunConfig, rooted: Rooted, lost: str
) -> None:
    store = Store(rooted("store"))
    start, other = store.run(tiny_run.address), override(tiny, {"training.images": 64})
    if lost:
        (start.path / lost).unlink()
    else:
        shutil.rmtree(start.path)
    todo = f"move {start.path} away and give the command again" if start.done else "complete that run first"
    with pytest.raises(RunFailed) as failure:
        train_runs([child, other], store, FAST, ignore)
    assert str(failure.value) == f"run {tiny.address}, which this one starts from, has no last weights: {todo}"
    assert todo.startswith("move" if lost == "weights.safetensors" else "complete")
    assert [store.run(config.address).done for config in (child, other)] == [False, True]
    assert not store.run(child.address).checkpoint_path.exists()


@pytest.mark.parametrize("lost", ["weights.safetensors", ""], ids=["weights", "everything"])
def test_a_child_that_was_begun_needs_its_start_no_more(
    tiny_run: RunFolder, child: RunConfig, finish: Finish, rooted: Rooted, lost: str
) -> None:
    whole, root = finish(child, rooted("whole")), rooted("stopped")
    stop_after(child, root, 64)
    start = Store(root).run(tiny_run.address)
    if lost:
        (start.path / lost).unlink()
    else:
        shutil.rmtree(start.path)
    assert_same(finish(child, root), whole)
