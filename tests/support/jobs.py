"""What the tests of conducting runs share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from recombine.files import read_rows
from recombine.lab.execute.jobs import RunProgress, train_runs
from recombine.lab.store import RunFolder, Store
from recombine.runs.concept_graph import RunConfig
from recombine.training.execution import Execution

Finish = Callable[..., RunFolder]
FAST = Execution.fastest("cpu")


def ignore(news: RunProgress) -> None:
    pass


def events(run: RunFolder) -> list[str]:
    return [row["event"] for row in read_rows(run.log_path)]


def assert_same(run: RunFolder, other: RunFolder) -> None:
    """Everything that a reader of the run sees, to the byte."""
    for name in ("config.json", "weights.safetensors", "checkpoint.safetensors", "measurements.jsonl"):
        assert (run.path / name).read_bytes() == (other.path / name).read_bytes(), name
    samples, others = (sorted((r.path / "samples").iterdir()) for r in (run, other))
    assert [p.name for p in samples] == [p.name for p in others]
    assert all(p.read_bytes() == q.read_bytes() for p, q in zip(samples, others, strict=True))


def stop_after(config: RunConfig, root: Path, seen: int) -> RunFolder:
    """Train until at least `seen` images and stop there as Ctrl-C does, with a checkpoint."""

    def interrupt(news: RunProgress) -> None:
        if news.images_seen >= seen and not news.text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_runs([config], Store(root), FAST, interrupt, save_seconds=0)
    return Store(root).run(config.address)
