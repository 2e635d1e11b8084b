import json
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from recombine.lab.execute import jobs as module
from recombine.lab.execute.jobs import RunProgress, train_runs
from recombine.lab.store import RunFolder, Store
from recombine.runs.concept_graph import RunConfig
from recombine.seeds import Seeds
from recombine.settings import override
from recombine.training.execution import Execution
from recombine.training.replica import Replica
from recombine.training.state import load_tensors
from support.jobs import FAST, assert_same, events, ignore, stop_after

Finish = Callable[..., RunFolder]


def test_a_finished_run_says_what_it_is_and_what_it_cost(tiny: RunConfig, tiny_run: RunFolder) -> None:
    assert tiny_run.done
    assert tiny_run.config() == tiny.model_dump(mode="json")
    outcome = tiny_run.outcome()
    assert outcome["images_seen"] == 256
    assert outcome["fleet"] == 1
    assert 0 < outcome["sampling_seconds"] < outcome["seconds"]
    weights = load_tensors(tiny_run.weights_path, tiny.address)
    assert outcome["parameters"] == sum(w.numel() for w in weights.values())
    assert set(weights) == set(tiny.model().state_dict())
    assert events(tiny_run)[0] == "started"
    assert set(events(tiny_run)[1:]) == {"saved"}


def test_every_milestone_is_measured_once_and_audited_where_it_should_be(tiny: RunConfig, tiny_run: RunFolder) -> None:
    rows = tiny_run.rows()
    keys = [tuple(value for name, value in row.items() if name != "value") for row in rows]
    assert len(set(keys)) == len(keys)
    product = [row for row in rows if row["instrument"] == "reader.product"]
    milestones = tiny.evaluation.milestones(tiny.training)
    product = [row for row in product if "sampler" not in row]
    assert [(r["images_seen"], r["node"]) for r in product] == [(m, n) for m in milestones for n in tiny.world.nodes]
    assert {r["node"]: r["distance"] for r in product} == {n: tiny.split.distance(n) for n in tiny.world.nodes}
    assert {r["images_seen"] for r in rows if r.get("sampler") == "ancestral-5"} == {256}
    assert {r["images_seen"] for r in rows if r["instrument"].startswith("calibration.")} == {0}
    kept = sorted(int(p.stem) for p in (tiny_run.path / "samples").iterdir())
    assert kept == sorted(tiny.evaluation.chosen(tiny.training, tiny.evaluation.sheet_points))
    sheet = load_tensors(tiny_run.samples_path(256), tiny.address)["images"]
    assert sheet.dtype == torch.uint8
    assert tuple(sheet.shape) == (8, 2, 3, 8, 8)


def test_the_same_config_gives_the_same_bits_and_how_often_it_is_saved_changes_none(
    tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path
) -> None:
    assert_same(finish(tiny, tmp_path, save_seconds=1000), tiny_run)


def test_another_seed_gives_other_bits(tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path) -> None:
    other = finish(tiny.replace(seeds=Seeds(sampling=1).model_dump()), tmp_path)
    assert other.address != tiny_run.address
    ours, theirs = (load_tensors(r.weights_path, r.address) for r in (other, tiny_run))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)  # sampling touches no weight
    assert other.measurements_path.read_bytes() != tiny_run.measurements_path.read_bytes()


def test_a_finished_run_is_not_trained_again(
    tiny: RunConfig, tiny_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = RunFolder(Path(shutil.copytree(tiny_run.path, tmp_path / "runs" / tiny_run.address)))
    before = {p: p.stat().st_mtime_ns for p in copied.path.rglob("*") if p.is_file() and p.name != "lock"}
    monkeypatch.setattr(Replica, "step", lambda self: pytest.fail("a finished run was trained"))
    news: list[RunProgress] = []
    train_runs([tiny], Store(tmp_path), FAST, news.append)
    assert [n.text for n in news] == ["done before"]
    assert {p: p.stat().st_mtime_ns for p in copied.path.rglob("*") if p.is_file() and p.name != "lock"} == before


def test_a_fleet_trains_what_its_members_train_alone(
    tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path
) -> None:
    """Two seeds, a longer run, and the same config twice: side by side they give the bits they give alone."""
    second = tiny.replace(seeds=Seeds.all(1).model_dump())
    longer = override(tiny, {"training.images": 288})
    train_runs([tiny, second, longer, tiny], Store(tmp_path / "fleet"), FAST, ignore, save_seconds=0)
    assert_same(Store(tmp_path / "fleet").run(tiny.address), tiny_run)
    for config in (second, longer):
        together = Store(tmp_path / "fleet").run(config.address)
        assert_same(together, finish(config, tmp_path / "alone"))
        assert together.outcome()["fleet"] == 3


def test_a_fleet_is_made_in_the_order_it_was_asked_for(
    tiny: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that share images follow each other in a plan; locks are taken in another order."""
    fleet = [tiny.replace(seeds=Seeds.all(seed).model_dump()) for seed in range(6)]
    fleet.sort(key=lambda config: config.address, reverse=True)
    monkeypatch.setattr(module, "train", lambda trainees, save_seconds: None)
    news: list[RunProgress] = []
    train_runs(fleet, Store(tmp_path), FAST, news.append)
    made = [n.address for n in news if n.text.startswith("making data")]
    assert made == [config.address for config in fleet]


@pytest.mark.parametrize("seen", [16, 100, 200])
def test_stopped_and_started_again_a_run_ends_as_if_it_had_never_stopped(
    tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path, seen: int
) -> None:
    stopped = stop_after(tiny, tmp_path, seen)
    assert not stopped.done
    assert stopped.checkpoint_path.exists()
    assert_same(finish(tiny, tmp_path), tiny_run)
    assert events(stopped).count("started") == events(stopped).count("resumed") == 1


@pytest.mark.parametrize("half", [False, True], ids=["before its rows", "amid its rows"])
@pytest.mark.parametrize("milestone", [1, -1], ids=["middle", "last"])
def test_a_milestone_whose_rows_were_not_written_is_made_up(
    tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path, milestone: int, half: bool
) -> None:
    """The checkpoint stands at the milestone, its rows are missing; or a second kill left the first half of them."""
    seen = tiny.evaluation.milestones(tiny.training)[milestone]

    reached, measure = [0], RunConfig.measure

    def interrupted(*arguments: Any) -> Any:
        if reached[-1] == seen:
            raise KeyboardInterrupt
        return measure(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunConfig, "measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_runs([tiny], Store(tmp_path), FAST, lambda news: reached.append(news.images_seen), save_seconds=1000)
    run = Store(tmp_path).run(tiny.address)
    assert int(load_tensors(run.checkpoint_path, run.address)["seen"]) == seen
    assert max(row["images_seen"] for row in run.rows()) < seen
    if half:
        lines = tiny_run.measurements_path.read_bytes().splitlines(keepends=True)
        there = [line for line in lines if json.loads(line)["images_seen"] == seen]
        with open(run.measurements_path, "ab") as file:
            file.write(b"".join(there[: len(there) // 2]) + there[len(there) // 2][:20])
    assert_same(finish(tiny, tmp_path), tiny_run)


def test_killed_between_the_last_checkpoint_and_the_mark(
    tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path
) -> None:
    for lost in (["done.json"], ["done.json", "weights.safetensors"]):
        root = tmp_path / str(len(lost))
        copied = Path(shutil.copytree(tiny_run.path, root / "runs" / tiny_run.address))
        for name in lost:
            (copied / name).unlink()
        run = finish(tiny, root)
        assert run.done
        assert_same(run, tiny_run)


def once(function: Callable[..., Any], at: int, when: str) -> Callable[..., Any]:
    """The function, with Ctrl-C pressed just before or after its call number `at`."""
    calls = [0]

    def called(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == at and when == "before":
            signal.raise_signal(signal.SIGINT)
        answer = function(*arguments, **named)
        if calls[0] == at and when == "after":
            signal.raise_signal(signal.SIGINT)
        return answer

    return called


MOMENTS = {
    "a step": (Replica, "_step", 6),
    "the update of Adam": (torch.optim.AdamW, "step", 7),  # the first call only makes its state
    "the update of the average": (Replica, "_update_average", 6),
    "the drawing of samples": (RunConfig, "measure", 2),
    "the writing of samples": (module, "save_tensors", 1),
    "the writing of rows": (RunFolder, "append", 3),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_control_c_at_any_moment_leaves_a_state_to_go_on_from(
    tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path, moment: str, when: str
) -> None:
    place, name, at = MOMENTS[moment]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, once(getattr(place, name), at, when))
        with pytest.raises(KeyboardInterrupt):
            train_runs([tiny], Store(tmp_path), FAST, ignore, save_seconds=1000)
    run = Store(tmp_path).run(tiny.address)
    assert not run.done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_same(finish(tiny, tmp_path), tiny_run)


def test_a_run_goes_on_the_way_it_began(tiny: RunConfig, finish: Finish, tmp_path: Path) -> None:
    plain = Execution.plain("cpu")
    train_runs([tiny], Store(tmp_path / "plain"), plain, ignore)
    with pytest.raises(KeyboardInterrupt):
        train_runs([tiny], Store(tmp_path / "mixed"), plain, _stop_at_100, save_seconds=0)
    mixed = finish(tiny, tmp_path / "mixed")
    assert json.loads(mixed.provenance_path.read_text())["execution"] == plain.asdict()
    assert_same(mixed, Store(tmp_path / "plain").run(tiny.address))


def _stop_at_100(news: RunProgress) -> None:
    if news.images_seen >= 100:
        raise KeyboardInterrupt


def test_provenance_states_the_threads_that_were_used(tiny: RunConfig, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        train_runs([tiny], Store(tmp_path), FAST, ignore)
    finally:
        torch.set_num_threads(before)
    provenance = json.loads(Store(tmp_path).run(tiny.address).provenance_path.read_text())
    assert provenance["execution"]["threads"] == 1
    assert provenance["device"].endswith("1 thread(s)")


def test_the_cost_of_all_the_times_a_run_was_started_adds_up(tiny: RunConfig, finish: Finish, tmp_path: Path) -> None:
    run = stop_after(tiny, tmp_path, 100)
    spent = {"event": "saved", "images_seen": 100, "seconds": 1000.0, "sampling_seconds": 400.0}
    run.log(spent)
    run.log({"event": "resumed", "images_seen": 100})
    run.log(spent | {"seconds": 500.0, "sampling_seconds": 100.0})
    outcome = finish(tiny, tmp_path).outcome()
    assert 1500 < outcome["seconds"] < 1600
    assert 500 < outcome["sampling_seconds"] < 600


def test_a_run_that_another_holds_is_waited_for_and_then_left_alone(
    tiny: RunConfig, tiny_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other finishes it while we wait: we train nothing."""
    monkeypatch.setattr(Replica, "step", lambda self: pytest.fail("the run was trained twice"))
    run = Store(tmp_path).run(tiny.address)
    texts: list[str] = []
    waiting = threading.Event()

    def listen(news: RunProgress) -> None:
        texts.append(news.text)
        waiting.set()

    with run.lock():
        ours = threading.Thread(target=train_runs, args=([tiny], Store(tmp_path), FAST, listen))
        ours.start()
        assert waiting.wait(30)
        shutil.copytree(tiny_run.path, run.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("lock"))
    ours.join(30)
    assert texts == ["waiting: another process trains this run", "done before"]
