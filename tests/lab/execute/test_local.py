import json
import multiprocessing
import os
import signal
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from recombine.errors import RunFailed, UserError
from recombine.files import read_rows
from recombine.lab.execute import local as engines
from recombine.lab.execute import workers
from recombine.lab.execute.jobs import RunProgress
from recombine.lab.execute.local import run_local
from recombine.lab.execute.workers import Pack
from recombine.lab.experiment import Budget, make_plan
from recombine.lab.report.conclude import conclude
from recombine.lab.store import Store
from recombine.lab.table import read_table
from recombine.runs.concept_graph import RunConfig
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.toy.experiment import ToyConfig

pytestmark = pytest.mark.usefixtures("one_core")


def ignore(news: RunProgress) -> None:
    pass


def seeded(config: RunConfig, seed: int) -> RunConfig:
    return config.replace(seeds=Seeds.all(seed).model_dump())


def test_processes_tell_their_news_and_one_failure_stops_nobody(tiny: RunConfig, tmp_path: Path) -> None:
    """Two runs on two workers, one of them bound to fail; a third that waits, and the bits, are in test_cli_damage."""
    lost = override(tiny, {"training.rate": 1e30})
    news: list[RunProgress] = []
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    store = Store(tmp_path)
    failures = run_local([lost, tiny], store, "cpu", news.append, workers=2)
    assert len(failures) == 1
    assert "lower training.rate" in failures[0]
    assert "\n" not in failures[0]
    assert [store.run(c.address).done for c in (lost, tiny)] == [False, True]
    assert {n.address for n in news} == {lost.address, tiny.address}
    assert max(n.images_seen for n in news if n.address == tiny.address) == 256
    assert {name: os.environ.get(name) for name in before} == before


def test_a_worker_that_is_killed_is_told_and_the_other_is_finished(tiny: RunConfig, tmp_path: Path) -> None:
    endless = override(seeded(tiny, 1), {"training.images": 10_000_000})  # it cannot end before it is killed
    killed: list[int] = []

    def kill_it(news: RunProgress) -> None:
        if news.address == endless.address and not killed:
            killed.append(int((Store(tmp_path).run(news.address).path / "lock").read_text()))
            os.kill(killed[0], signal.SIGKILL)

    failures = run_local([tiny, endless], Store(tmp_path), "cpu", kill_it, workers=2)
    assert failures == [f"the process of run {endless.address} was killed: give the same command again, it resumes"]
    assert [run.address for run in Store(tmp_path).runs() if run.done] == [tiny.address]
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

    monkeypatch.setattr(workers, "train_runs", pretend)
    assert run_local([tiny, seeded(tiny, 1)], Store(tmp_path), "cpu", ignore) == ["this one fails"]
    assert done == [seeded(tiny, 1).address]


@pytest.mark.parametrize(
    ("cores", "asked", "runs", "expected"),
    [(1, None, 2, [1, 1]), (4, None, 1, [4]), (4, 1, 2, [4, 4]), (4, None, 2, "pool of 2"), (2, None, 3, "pool of 2"),
     (2, 8, 3, "pool of 3")],
)  # fmt: skip
def test_how_the_cores_are_shared(
    tiny: RunConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    asked: int | None,
    runs: int,
    expected: Any,
) -> None:
    """A single run takes all cores; several are processes of one thread, no more than there are runs or cores."""
    threads: list[Any] = []
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(workers, "train_runs", lambda configs, store, execution, *_: threads.append(execution.threads))

    def pool(packs: list[Pack], store: Any, report: Any, count: int) -> list[str]:
        assert [(len(pack.work), pack.execution.threads) for pack in packs] == [(1, 1)] * runs
        threads.append(f"pool of {count}")
        return []

    monkeypatch.setattr(engines, "run_packs", pool)
    assert run_local([seeded(tiny, seed) for seed in range(runs)], Store(tmp_path), "cpu", ignore, False, asked) == []
    assert threads == (expected if isinstance(expected, list) else [expected])


def test_plain_is_float32_eager(tiny: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Any] = []
    monkeypatch.setattr(workers, "train_runs", lambda configs, store, execution, *_: used.append(execution))
    run_local([tiny], Store(tmp_path), "cpu", ignore, plain=True)
    assert (used[0].precision, used[0].channels_last, used[0].compile, used[0].graphs) == (
        "float32",
        False,
        False,
        False,
    )


@pytest.mark.parametrize("asked", [0, -1])
def test_no_workers_are_wrong_use(tiny: RunConfig, tmp_path: Path, asked: int) -> None:
    with pytest.raises(UserError, match="workers"):
        run_local([tiny, seeded(tiny, 1)], Store(tmp_path), "cpu", ignore, workers=asked)


def after(start: RunConfig, **changes: Any) -> RunConfig:
    return override(start, changes).replace(start=start.model_dump())


def test_a_start_is_trained_first_and_once_for_all_its_children(tiny: RunConfig, tmp_path: Path) -> None:
    children = [after(tiny, **{"training.images": images}) for images in (64, 128)]
    news: list[RunProgress] = []
    store = Store(tmp_path)
    assert run_local(children, store, "cpu", news.append) == []
    order = list(dict.fromkeys(n.address for n in news))
    assert order == [tiny.address, *(child.address for child in children)]
    first_child = min(i for i, n in enumerate(news) if n.address != tiny.address)
    assert all(n.address != tiny.address for n in news[first_child:])
    assert sorted(run.address for run in store.runs() if run.done) == sorted(order)
    assert [row["event"] for row in read_rows(store.run(tiny.address).log_path)] == ["started", "saved"]
    assert run_local([*children, tiny], store, "cpu", lambda news: pytest.fail("trained again")) == []


@pytest.fixture
def rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The runs that were given to processes together, round by round; all end at once as if they had been trained."""
    given: list[list[str]] = []

    def pool(packs: list[Pack], *_: Any) -> list[str]:
        given.append([work.address for pack in packs for work in pack.work])
        for address in given[-1]:
            Store(tmp_path).run(address).finish({})
        return []

    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(engines, "run_packs", pool)
    return given


def test_generations_follow_one_another(tiny: RunConfig, tmp_path: Path, rounds: list[list[str]]) -> None:
    """Starts together, then their children, then theirs; however they were given, and each of them once."""
    starts = [seeded(tiny, seed) for seed in range(2)]
    children = [after(start, **{"training.images": images}) for start in starts for images in (64, 128)]
    youngest = [after(child) for child in children[:2]]
    given = [*youngest, *children[2:], starts[0], *youngest]
    assert run_local(given, Store(tmp_path), "cpu", ignore) == []
    assert [sorted(together) for together in rounds] == [
        sorted(config.address for config in generation) for generation in (starts, children, youngest)
    ]


def test_what_is_done_needs_no_start(tiny: RunConfig, tmp_path: Path, rounds: list[list[str]]) -> None:
    store, child = Store(tmp_path), after(tiny)
    store.run(child.address).finish({})
    assert run_local([child], store, "cpu", ignore) == []
    assert rounds == []
    others = [after(tiny, **{"training.images": images}) for images in (64, 128)]
    store.run(tiny.address).finish({})
    assert run_local([child, *others], store, "cpu", ignore) == []
    assert rounds == [[other.address for other in others]]  # a start that is done is not trained again


def test_where_the_start_fails_its_children_are_not_trained_and_the_others_are(tiny: RunConfig, tmp_path: Path) -> None:
    lost, store = override(tiny, {"training.rate": 1e30}), Store(tmp_path)
    child, other = after(lost, **{"training.rate": 1e-3}), seeded(tiny, 1)
    failures = run_local([child, other], store, "cpu", ignore)
    assert "lower training.rate" in failures[0]
    assert all("\n" not in line for line in failures)
    assert [store.run(config.address).done for config in (lost, child, other)] == [False, False, True]
    assert not store.run(child.address).checkpoint_path.exists()


def test_a_start_without_its_weights_is_one_line(tiny: RunConfig, tmp_path: Path) -> None:
    store, child = Store(tmp_path), after(tiny)
    assert run_local([tiny], store, "cpu", ignore) == []
    store.run(tiny.address).weights_path.unlink()
    [line] = run_local([child], store, "cpu", ignore)
    assert f"run {tiny.address}, which this one starts from, has no last weights: move" in line
    assert str(store.run(tiny.address).path) in line
    assert "\n" not in line
    assert not store.run(child.address).done


@pytest.mark.usefixtures("quick_figures")
def test_two_arms_and_two_experiments_share_a_run(tiny: RunConfig, tmp_path: Path) -> None:
    budget = Budget({"continuous": tiny, "again": tiny}, 1, "seconds")
    emergence = EXPERIMENTS["concept-graphs/emergence"]
    first = replace(emergence, budgets={"smoke": budget})
    second = replace(emergence, name="second", budgets={"smoke": replace(budget, arms={"continuous": tiny})})
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
    assert read_table(paths[1] / "table.parquet").drop("arm").equals(one)
    assert json.loads((paths[1] / "plan.json").read_text())["runs"][0]["address"] == tiny.address


def test_nothing_is_made_where_nothing_is_pending_or_the_device_is_not_there(
    tiny: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "train_runs", lambda *_: pytest.fail("trained"))
    for device in ("nonsense", "cuda:99"):
        with pytest.raises(UserError):
            run_local([tiny], Store(tmp_path / "store"), device, ignore)
    assert not (tmp_path / "store").exists()
    assert run_local([], Store(tmp_path / "store"), "cpu", ignore) == []


def test_computations_go_on_beside_the_device(tmp_path: Path) -> None:
    store, news = Store(tmp_path), list[RunProgress]()
    toys = [ToyConfig(trials=trials, atoms=(1, 2)) for trials in (5, 6, 7)]
    with engines._on_the_side(toys, store, news.append, workers=1) as failures:
        assert not all(store.run(toy.address).done for toy in toys)  # a process has only begun to start
    assert failures == []
    assert all(store.run(toy.address).done for toy in toys)
    assert {each.address for each in news} == {toy.address for toy in toys}


def test_where_training_is_stopped_they_are_too(tmp_path: Path) -> None:
    store, seen = Store(tmp_path), threading.Event()
    toys = [ToyConfig(trials=1_000 + trials) for trials in range(2_000)]  # minutes

    def train() -> None:
        with engines._on_the_side(toys, store, lambda news: seen.set(), workers=1):
            assert seen.wait(60)
            raise RunFailed("training")

    with pytest.raises(RunFailed, match="training"):
        train()
    done = sum(store.run(toy.address).done for toy in toys)
    assert 1 <= done < len(toys)
    assert not multiprocessing.active_children()


def test_a_device_trains_packs_while_computations_run_on_the_side(
    tiny: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is this CPU under another name."""
    packs = list[list[str]]()

    def train(pack: Pack, *rest: Any) -> list[str]:
        packs.append([work.address for work in pack.work])
        return ["lost"]

    monkeypatch.setattr(engines, "resolve_device", lambda device: device)
    monkeypatch.setattr(engines, "_sharing", lambda device, cores: 1)
    monkeypatch.setattr(engines, "run_pack", train)
    monkeypatch.setattr(engines, "PACK_SIZE", 2)
    monkeypatch.setattr(engines.Execution, "fastest", lambda device: engines.Execution.plain("cpu"))
    runs, toy = [seeded(tiny, seed) for seed in range(3)], ToyConfig(trials=4, atoms=(1,))
    assert run_local([toy, *runs], Store(tmp_path), "cuda", ignore) == ["lost"]
    assert [len(together) for together in packs] == [2, 1]
    assert Store(tmp_path).run(toy.address).done


def test_networks_that_train_too_short_for_it_are_not_compiled(
    tiny: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute of compiling pays where one kind of network sees many images, in one run or in many."""
    monkeypatch.setattr(engines, "PACK_SIZE", 2)
    monkeypatch.setattr(engines, "COMPILED_FROM", 3 * tiny.training.total)
    fast = engines.Execution("cpu", compile=True)
    few = seeded(override(tiny, {"network.channels": 16}), 0)
    many = [seeded(tiny, seed) for seed in range(3)]
    packs = [(pack.work, pack.execution.compile) for pack in engines._packs([few, *many], fast)]
    assert packs == [([few], False), (many[:2], True), (many[2:], True)]
    assert fast.uncompiled == engines.Execution("cpu")


def test_packs_share_images_and_hold_whole_architectures(tiny: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the plan; a kind of network is made ready in one process, a set of images too."""
    monkeypatch.setattr(engines, "PACK_SIZE", 4)
    monkeypatch.setattr(engines, "COMPILED_FROM", 0)
    wide, wider = (override(tiny, {"network.channels": channels}) for channels in (8, 12))
    other = override(tiny, {"split.count": 7})
    runs = [seeded(run, seed) for run in (tiny, other, wide, wider) for seed in range(2)]
    packs = [pack.work for pack in engines._packs(runs, engines.Execution("cpu"))]
    assert packs == [[*runs[:2], *runs[4:6]], runs[6:], runs[2:4]]
    assert [len(together) for together in engines._filled([runs[:1], runs[:7], runs[:2]])] == [1, 4, 3, 2]


def test_a_device_is_shared_by_as_many_processes_as_it_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Device:
        total_memory: int

    for gigabytes, cores, expected in ((141, 16, 4), (80, 16, 3), (24, 16, 1), (8, 16, 1), (141, 8, 2), (141, 2, 1)):
        device = Device(gigabytes << 30)
        monkeypatch.setattr(engines.torch.cuda, "get_device_properties", lambda name, device=device: device)
        assert engines._sharing("cuda", cores) == expected


def test_packs_take_turns_in_processes_that_share_a_device(
    tiny: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is this CPU under another name; one of three packs fails, in a process that goes on."""
    monkeypatch.setattr(engines, "resolve_device", lambda device: device)
    monkeypatch.setattr(engines, "_sharing", lambda device, cores: 2)
    monkeypatch.setattr(engines, "PACK_SIZE", 2)
    monkeypatch.setattr(engines.Execution, "fastest", lambda device: engines.Execution.plain("cpu"))
    lost = override(tiny, {"training.rate": 1e30, "network.channels": 8})
    runs, store, news = [seeded(tiny, seed) for seed in range(3)], Store(tmp_path), list[RunProgress]()
    [line] = run_local([lost, *runs], store, "cuda", news.append)
    assert "lower training.rate" in line
    assert [store.run(run.address).done for run in (lost, *runs)] == [False, True, True, True]
    assert [store.run(run.address).outcome()["fleet"] for run in runs] == [4, 4, 2]  # of runs that share the device
    processes = {(store.run(run.address).path / "lock").read_text() for run in (lost, *runs)}
    assert len(processes) == 2
    assert not multiprocessing.active_children()
