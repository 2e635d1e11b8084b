"""Processes that take packs of work: who takes which, and what becomes of the rest when one of them ends."""

import multiprocessing
import os
import signal
from pathlib import Path

from recombine.lab.execute.jobs import RunProgress
from recombine.lab.execute.workers import Pack, best_pack, run_packs
from recombine.lab.store import Store
from recombine.runs.concept_graph import RunConfig
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.studies.concept_graphs.toy.experiment import ToyConfig
from recombine.training.execution import Execution

CPU = Execution.plain("cpu")


def pack(*work: RunConfig | ToyConfig) -> Pack:
    return Pack(list(work), CPU)


def test_a_free_process_takes_what_shares_images_then_what_nobody_has_then_what_shares_networks(
    tiny: RunConfig,
) -> None:
    other, third = (override(tiny, {"split.count": count}) for count in (7, 8))
    wide, elsewhere = override(tiny, {"network.channels": 8}), override(other, {"network.channels": 8})
    first, alike = pack(tiny).images, pack(tiny).architectures
    assert pack(wide).images == first == pack(tiny.replace(seeds=Seeds.all(3).model_dump())).images
    assert pack(other).architectures == alike != pack(wide).architectures
    assert not first & pack(other).images
    assert not pack(ToyConfig()).images

    waiting = [pack(other), pack(wide), pack(third)]
    assert best_pack(waiting, set(first), set(), set(alike)) == waiting[1]
    assert best_pack(waiting, set(), set(pack(other).images | first), set()) == waiting[2]
    assert best_pack(waiting, set(), set().union(*(each.images for each in waiting)), set()) == waiting[0]
    assert best_pack([pack(elsewhere), pack(other)], set(first), set(), set(alike)) == pack(other)


def test_one_process_does_many_packs(tmp_path: Path) -> None:
    toys, news = [ToyConfig(trials=trials, atoms=(1,)) for trials in (3, 4, 5)], list[RunProgress]()
    store = Store(tmp_path)
    assert run_packs([pack(toy) for toy in toys], store, news.append, workers=1) == []
    assert [each.address for each in news] == [toy.address for toy in toys]
    assert len({(store.run(toy.address).path / "lock").read_text() for toy in toys}) == 1
    assert run_packs([], store, news.append, workers=3) == []


def test_where_a_process_is_killed_another_takes_what_is_left(tiny: RunConfig, tmp_path: Path) -> None:
    endless = override(tiny, {"training.images": 10_000_000, "network.channels": 8})
    store, killed = Store(tmp_path), list[int]()

    def kill_it(news: RunProgress) -> None:
        if news.address == endless.address and not killed:
            killed.append(int((store.run(news.address).path / "lock").read_text()))
            os.kill(killed[0], signal.SIGKILL)

    packs = [pack(endless, override(endless, {"network.channels": 4})), pack(tiny)]
    failures = run_packs(packs, store, kill_it, workers=1)
    assert failures == ["the process of 2 runs was killed: give the same command again, it resumes"]
    assert store.run(tiny.address).done
    assert int((store.run(tiny.address).path / "lock").read_text()) != killed[0]
    assert not multiprocessing.active_children()
