import json
import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recombine.errors import RunFailed, UserError
from recombine.files import read_rows
from recombine.lab import engines
from recombine.lab.conclude import conclude
from recombine.lab.conduct import Progress
from recombine.lab.config import RunConfig
from recombine.lab.engines import run_local
from recombine.lab.experiment import Budget, make_plan
from recombine.lab.store import Store
from recombine.lab.table import read_table
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.studies.concept_graphs.emergence import EXPERIMENT

pytestmark = pytest.mark.usefixtures("one_core")


def ignore(news: Progress) -> None:
    pass


def seeded(config: RunConfig, seed: int) -> RunConfig:
    return config.replace(seeds=Seeds.all(seed).model_dump())


def test_processes_tell_their_news_and_one_failure_stops_nobody(tiny: RunConfig, tmp_path: Path) -> None:
    """Three runs on two workers, the first of them bound to fail; their bits are the subject of test_cli."""
    lost, second = override(tiny, {"training.rate": 1e30}), seeded(tiny, 1)
    news: list[Progress] = []
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    store = Store(tmp_path)
    failures = run_local([lost, tiny, second], store, "cpu", news.append, workers=2)
    assert len(failures) == 1
    assert "lower training.rate" in failures[0]
    assert "\n" not in failures[0]
    assert [store.run(c.address).done for c in (lost, tiny, second)] == [False, True, True]
    assert {n.address for n in news} == {lost.address, tiny.address, second.address}
    assert max(n.images_seen for n in news if n.address == second.address) == 256
    assert {name: os.environ.get(name) for name in before} == before


def test_a_worker_that_is_killed_is_told_and_the_other_is_finished(tiny: RunConfig, tmp_path: Path) -> None:
    workers: dict[str, int] = {}

    def kill_one(news: Progress) -> None:
        if len(workers) < 2:
            workers[news.address] = int((Store(tmp_path).run(news.address).path / "lock").read_text())
            if len(workers) == 2:
                os.kill(max(workers.values()), signal.SIGKILL)  # the one that was started last

    failures = run_local([tiny, seeded(tiny, 1)], Store(tmp_path), "cpu", kill_one, workers=2)
    killed = max(workers, key=lambda address: workers[address])
    assert failures == [f"the process of run {killed} was killed: give the same command again, it resumes"]
    assert [run.address for run in Store(tmp_path).runs() if run.done] == [a for a in workers if a != killed]
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("error", [RunFailed("this one fails"), UserError("this one fails")])
def test_in_one_process_a_failure_stops_nobody_either(
    tiny: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: UserError
) -> None:
    done: list[str] = []

    def pretend(configs: list[RunConfig], *_: Any) -> None:
        if configs[0] == tiny:
            raise error
        done.append(configs[0].address)

    monkeypatch.setattr(engines, "conduct", pretend)
    assert run_local([tiny, seeded(tiny, 1)], Store(tmp_path), "cpu", ignore) == ["this one fails"]
    assert done == [seeded(tiny, 1).address]


@pytest.mark.parametrize(
    ("cores", "workers", "runs", "expected"),
    [(1, None, 2, [1, 1]), (4, None, 1, [4]), (4, 1, 2, [4, 4]), (4, None, 2, "pool of 2"), (2, None, 3, "pool of 2"),
     (2, 8, 3, "pool of 3")],
)  # fmt: skip
def test_how_the_cores_are_shared(
    tiny: RunConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    workers: int | None,
    runs: int,
    expected: Any,
) -> None:
    """A single run takes all cores; several are processes of one thread, no more than there are runs or cores."""
    threads: list[Any] = []
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(engines, "conduct", lambda configs, store, execution, *_: threads.append(execution.threads))

    def pool(pending: Any, store: Any, execution: Any, report: Any, count: int) -> list[str]:
        assert execution.threads == 1
        threads.append(f"pool of {count}")
        return []

    monkeypatch.setattr(engines, "_run_processes", pool)
    assert run_local([seeded(tiny, seed) for seed in range(runs)], Store(tmp_path), "cpu", ignore, False, workers) == []
    assert threads == (expected if isinstance(expected, list) else [expected])


def test_plain_is_float32_eager(tiny: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Any] = []
    monkeypatch.setattr(engines, "conduct", lambda configs, store, execution, *_: used.append(execution))
    run_local([tiny], Store(tmp_path), "cpu", ignore, plain=True)
    assert (used[0].precision, used[0].channels_last, used[0].compile, used[0].graphs) == (
        "float32",
        False,
        False,
        False,
    )


@pytest.mark.parametrize("workers", [0, -1])
def test_no_workers_are_wrong_use(tiny: RunConfig, tmp_path: Path, workers: int) -> None:
    with pytest.raises(UserError, match="workers"):
        run_local([tiny, seeded(tiny, 1)], Store(tmp_path), "cpu", ignore, workers=workers)


@pytest.mark.usefixtures("quick_figures")
def test_two_arms_and_two_experiments_share_a_run(tiny: RunConfig, tmp_path: Path) -> None:
    budget = Budget({"continuous": tiny, "again": tiny}, 1, "seconds")
    first = replace(EXPERIMENT, budgets={"smoke": budget})
    second = replace(EXPERIMENT, name="second", budgets={"smoke": replace(budget, arms={"continuous": tiny})})
    store = Store(tmp_path)
    plans = [make_plan(experiment, "smoke") for experiment in (first, second)]
    for plan in plans:
        assert run_local([run.config for run in plan.runs], store, "cpu", ignore) == []
    assert [run.address for run in store.runs()] == [tiny.address]
    assert [row["event"] for row in read_rows(store.run(tiny.address).log_path)] == ["started", "saved"]
    paths = [conclude(plan, store)[1].parent for plan in plans]
    arms = read_table(paths[0] / "table.parquet")
    assert arms["arm"].unique(maintain_order=True).to_list() == ["continuous", "again"]
    one, other = (arms.filter(arms["arm"] == arm).drop("arm") for arm in ("continuous", "again"))
    assert one.equals(other)
    assert read_table(paths[1] / "table.parquet").drop("experiment", "arm").equals(one.drop("experiment"))
    assert json.loads((paths[1] / "plan.json").read_text())["runs"][0]["address"] == tiny.address


def test_nothing_is_made_where_nothing_is_pending_or_the_device_is_not_there(
    tiny: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "conduct", lambda *_: pytest.fail("trained"))
    for device in ("nonsense", "cuda:99"):
        with pytest.raises(UserError):
            run_local([tiny], Store(tmp_path / "store"), device, ignore)
    assert not (tmp_path / "store").exists()
    assert run_local([], Store(tmp_path / "store"), "cpu", ignore) == []
