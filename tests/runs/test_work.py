"""A computation is work like a training: one address, rows in the store, done once, made anew where it was cut off."""

import json
import multiprocessing
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from recombine.errors import RunFailed, UserError
from recombine.lab.execute.jobs import RunProgress, compute
from recombine.lab.execute.local import run_local
from recombine.lab.execute.workers import Pack, run_pack, run_packs
from recombine.lab.store import RunFolder, Store
from recombine.runs.work import Computation, Row
from recombine.seeds import Seeds
from recombine.settings import build
from recombine.training.execution import Execution

pytestmark = pytest.mark.usefixtures("one_core")


class Sums(Computation):
    """Sums of the first n numbers, each raised by the data seed."""

    kind: Literal["sums"] = "sums"
    upto: tuple[int, ...] = (1, 2, 3)
    step: int = Field(default=1, ge=1)

    def check(self) -> None:
        if min(self.upto) < 0:
            raise UserError("no sum of fewer than no numbers: raise upto")

    def rows(self) -> list[Row]:
        """With n as a column."""
        return [row(n, self.step * n * (n + 1) / 2 + self.seeds.data) for n in self.upto]


class Products(Sums):
    """The same settings under another name."""

    kind: Literal["products"] = "products"  # type: ignore[assignment]


class Hopeless(Computation):
    """Fails as a person's mistake does, only once it is under way."""

    kind: Literal["hopeless"] = "hopeless"

    def rows(self) -> list[Row]:
        raise RunFailed("the sum does not converge: lower step")


class Broken(Computation):
    """Has a fault of its own."""

    kind: Literal["broken"] = "broken"

    def rows(self) -> list[Row]:
        raise ZeroDivisionError("a fault")


def ignore(news: RunProgress) -> None:
    pass


def row(n: int, value: float) -> Row:
    return {"n": n, "instrument": "sum", "value": value}


ROWS = [row(1, 1.0), row(2, 3.0), row(3, 6.0)]


def files(run: RunFolder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.path.iterdir() if path.name != "lock"}


def test_the_same_settings_have_the_same_address() -> None:
    assert Sums().address == Sums(upto=(1, 2, 3), seeds=Seeds()).address
    assert build(Sums, json.loads(json.dumps(Sums().model_dump(mode="json")))).address == Sums().address
    others: list[Computation] = [
        Sums(upto=(1, 2)), Sums(step=2), Sums(seeds=Seeds(order=1)), Products(), Hopeless(),
    ]  # fmt: skip
    assert len({work.address for work in (Sums(), *others)}) == 6
    assert len(Sums().address) == 12


def test_seeds_and_settings_are_changed_in_a_copy() -> None:
    work, seeds = Sums(step=3), Seeds(data=1, init=2, order=3, sampling=4)
    seeded = work.with_seeds(seeds)
    assert type(seeded) is Sums
    assert seeded == Sums(step=3, seeds=seeds)
    assert seeded.with_seeds(work.seeds) == work == Sums(step=3)
    assert work.overridden({"step": 2, "seeds.data": 5}) == Sums(step=2, seeds=Seeds(data=5))
    assert work.overridden({}) == work
    for wrong, says in (({"stp": 2}, "did you mean 'step'"), ({"step": 0}, "'step' = 0"), ({"seeds.dat": 1}, "data")):
        with pytest.raises(UserError, match=says):
            work.overridden(wrong)


def test_a_computation_is_one_piece_and_needs_nothing_before_it() -> None:
    work = Hopeless()
    assert work.total == 1
    assert work.ancestry() == [work]
    work.check()  # nothing to refuse unless it says so


def test_rows_land_in_the_store_with_what_they_come_from(tmp_path: Path) -> None:
    news: list[RunProgress] = []
    compute(Sums(), Store(tmp_path), news.append)
    [run] = Store(tmp_path).runs()
    assert run.address == Sums().address
    assert run.done
    assert run.config() == Sums().model_dump(mode="json")
    assert run.rows() == ROWS
    assert run.provenance()["execution"]["device"] == "cpu"
    assert {"started", "recombine", "torch"} <= set(run.provenance())
    outcome = run.outcome()
    assert (outcome["images_seen"], outcome["fleet"], outcome["sampling_seconds"]) == (0, 1, 0.0)
    assert 0 <= outcome["seconds"] < 10
    assert news == [RunProgress(run.address, 1, 1)]


def test_the_mark_that_it_is_done_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finish, before = RunFolder.finish, dict[str, bytes]()

    def looked_at(self: RunFolder, outcome: Any) -> None:
        assert not self.done
        assert self.rows() == ROWS
        before.update(files(self))
        finish(self, outcome)

    monkeypatch.setattr(RunFolder, "finish", looked_at)
    compute(Sums(), Store(tmp_path), ignore)
    after = files(Store(tmp_path).run(Sums().address))
    assert set(before) == {"config.json", "provenance.json", "measurements.jsonl"}
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"done.json"}


def test_a_second_call_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, news = Store(tmp_path), list[RunProgress]()
    compute(Sums(), store, ignore)
    before = files(store.run(Sums().address))
    monkeypatch.setattr(Sums, "rows", lambda self: pytest.fail("computed again"))
    compute(Sums(), store, news.append)
    assert run_local([Sums(), Sums()], store, "cpu", ignore) == []
    assert files(store.run(Sums().address)) == before
    assert news == [RunProgress(Sums().address, 1, 1)]


def test_what_another_process_finishes_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine looked before the lock was free; whether it is done is asked again once it is held."""
    other, lock = Store(tmp_path / "other"), RunFolder.lock
    compute(Sums(), other, ignore)
    done = other.run(Sums().address)

    def held(self: RunFolder) -> Any:
        shutil.copytree(done.path, self.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("lock"))
        return lock(self)

    monkeypatch.setattr(RunFolder, "lock", held)
    monkeypatch.setattr(Sums, "rows", lambda self: pytest.fail("computed twice"))
    compute(Sums(), Store(tmp_path / "store"), ignore)
    assert Store(tmp_path / "store").run(Sums().address).rows() == ROWS


def stop(*_: Any) -> None:
    raise KeyboardInterrupt


def tear(run: RunFolder) -> None:
    """As if the disk had kept the first line and a part of the second."""
    content = run.measurements_path.read_bytes()
    run.measurements_path.write_bytes(content[: content.index(b"\n") + 20])


@pytest.mark.parametrize(
    ("place", "name", "then"),
    [
        (Sums, "rows", lambda run: None),
        (RunFolder, "append", lambda run: None),
        (RunFolder, "finish", lambda run: None),
        (RunFolder, "finish", tear),
    ],
    ids=["computing", "before its rows", "after its rows", "amid its rows"],
)
def test_interrupted_it_is_made_anew_without_a_row_twice(
    tmp_path: Path, place: type, name: str, then: Callable[[RunFolder], None]
) -> None:
    store = Store(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, stop)
        with pytest.raises(KeyboardInterrupt):
            compute(Sums(), store, ignore)
    run = store.run(Sums().address)
    assert run.exists
    assert not run.done
    then(run)
    compute(Sums(), store, ignore)
    assert run.done
    assert run.rows() == ROWS
    assert len(run.measurements_path.read_text().splitlines()) == len(ROWS)


def test_what_cannot_be_computed_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="raise upto"):
        compute(Sums(upto=(-1,)), Store(tmp_path), ignore)
    assert list(Store(tmp_path).runs()) == []


def test_a_damaged_folder_is_one_line_and_stays_as_it_is(tmp_path: Path) -> None:
    run = Store(tmp_path).run(Sums().address)
    run.path.mkdir(parents=True)
    run.config_path.write_text(json.dumps(Sums(step=2).model_dump(mode="json")))
    before = files(run)
    with pytest.raises(RunFailed, match="does not belong to run") as failure:
        compute(Sums(), Store(tmp_path), ignore)
    assert "\n" not in str(failure.value)
    assert files(run) == before


WORK = [Sums(), Hopeless(), Sums(upto=(-2,)), Sums().with_seeds(Seeds.all(1))]
SAYS = [None, "the sum does not converge: lower step", "no sum of fewer than no numbers: raise upto", None]


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that begin as copies of this one, which takes no time; spawned ones are the subject of a test below."""
    context = multiprocessing.get_context("fork")
    monkeypatch.setattr(multiprocessing, "get_context", lambda kind: context)


def check_answers(failures: list[str], store: Store) -> None:
    """Each failure is one line, and the others were computed."""
    assert sorted(failures) == sorted(line for line in SAYS if line)
    assert [store.run(work.address).done for work in WORK] == [line is None for line in SAYS]
    assert store.run(WORK[0].address).rows() == ROWS
    assert store.run(WORK[-1].address).rows() == [row(1, 2.0), row(2, 4.0), row(3, 7.0)]


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("workers", [1, 3])
def test_the_engine_computes_and_one_that_fails_is_one_line_and_stops_nobody(tmp_path: Path, workers: int) -> None:
    store, news = Store(tmp_path), list[RunProgress]()
    check_answers(run_local(WORK, store, "cpu", news.append, workers=workers), store)
    assert sorted(n.address for n in news) == sorted(WORK[i].address for i in (0, -1))
    assert {(n.images_seen, n.total) for n in news} == {(1, 1)}


def test_computed_together_as_on_a_gpu_one_that_fails_stops_nobody_either(tmp_path: Path) -> None:
    check_answers(run_pack(Pack(WORK, Execution.plain("cpu")), Store(tmp_path), ignore), Store(tmp_path))


def test_a_computation_reaches_a_process_that_begins_with_nothing(tmp_path: Path) -> None:
    work, store = Sums(upto=(4,)).with_seeds(Seeds.all(1)), Store(tmp_path)
    assert run_packs([Pack([work], Execution.plain("cpu"))], store, ignore, workers=1) == []
    assert store.run(work.address).rows() == [row(4, 11.0)]


@pytest.mark.usefixtures("forked")
def test_an_unexpected_error_in_a_process_is_not_taken_for_success(tmp_path: Path) -> None:
    """An unexpected error ends a process without a line; the work is not done, and that must be reported."""
    [line] = run_local([Broken(), Sums()], Store(tmp_path), "cpu", ignore, workers=2)
    assert Broken().address in line
    assert Store(tmp_path).run(Sums().address).rows() == ROWS
