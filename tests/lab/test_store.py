import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.errors import RunFailed, UserError
from recombine.lab.store import Busy, RunFolder, Store
from recombine.settings import Settings, fingerprint


class Config(Settings):
    name: str = "é"
    rate: float = 0.1


def row(seen: int, value: float = 0.5) -> dict[str, object]:
    return {"images_seen": seen, "node": "000", "distance": 0, "instrument": "reader.product", "value": value}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = Store(tmp_path / "store").run(fingerprint(Config()))
    folder.write_config(Config())
    return folder


def test_a_store_makes_nothing_before_the_first_write(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    assert list(store.runs()) == []
    assert not store.run("0" * 12).exists
    assert store.run("0" * 12).rows() == []
    assert not store.root.exists()


def test_config_comes_back_and_a_second_write_leaves_it(run: RunFolder) -> None:
    before = run.config_path.stat().st_mtime_ns
    run.write_config(Config())
    assert run.config() == {"name": "é", "rate": 0.1}
    assert run.config_path.stat().st_mtime_ns == before
    with pytest.raises(ValueError, match="given to run"):
        run.write_config(Config(rate=0.2))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"name": "é", "rate": 0.2}', "\x00\x00"])
def test_a_damaged_or_foreign_config_is_one_line_with_the_file(run: RunFolder, text: str) -> None:
    run.config_path.write_text(text)
    for attempt in (run.config, lambda: run.write_config(Config())):
        with pytest.raises(RunFailed) as failure:
            attempt()
        assert str(run.config_path) in str(failure.value)
        assert "move" in str(failure.value)
        assert "\n" not in str(failure.value)


@pytest.mark.parametrize("address", ["", "..", "../../etc/pass", "ABCDEF012345", "0" * 11, "0" * 13, "0" * 12 + "\n"])
def test_addresses_cannot_leave_the_store(tmp_path: Path, address: str) -> None:
    with pytest.raises(UserError):
        Store(tmp_path).run(address)


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc", ".hidden", "a\n", "a b"])
def test_experiment_names_cannot_leave_the_store(tmp_path: Path, name: str) -> None:
    for parts in ((name, "b", "c"), ("a", name, "c"), ("a", "b", name)):
        with pytest.raises(UserError):
            Store(tmp_path).experiment(*parts)
    expected = tmp_path / "experiments" / "concept-graphs" / "emergence" / "laptop"
    assert Store(tmp_path).experiment("concept-graphs", "emergence", "laptop") == expected


def test_rows_append_and_come_back(run: RunFolder) -> None:
    run.append([row(64), row(128)])
    run.append([])
    run.append([row(256)])
    assert [r["images_seen"] for r in run.rows()] == [64, 128, 256]
    with pytest.raises(ValueError, match="an instrument and a value"):
        run.append([{"images_seen": 1, "value": 2}])


@settings(max_examples=25, deadline=None)
@given(cut=st.integers(0, 200), limit=st.integers(-1, 400))
def test_a_cut_anywhere_loses_at_most_the_torn_row(
    tmp_path_factory: pytest.TempPathFactory, cut: int, limit: int
) -> None:
    run = RunFolder(tmp_path_factory.mktemp("store") / ("0" * 12))
    run.append([row(64), row(128), row(256)])
    whole = run.measurements_path.read_bytes()
    kept = whole[: max(0, len(whole) - cut)]
    run.measurements_path.write_bytes(kept)
    lengths = [len(line) for line in whole.splitlines()]
    survivors = [s for i, s in enumerate((64, 128, 256)) if len(kept) >= sum(lengths[: i + 1]) + i]
    assert [r["images_seen"] for r in run.rows()] == survivors
    dropped = run.drop_rows_after(limit)
    expected = [s for s in survivors if s <= limit]
    assert dropped == len(survivors) - len(expected)
    assert [r["images_seen"] for r in run.rows()] == expected
    run.append([row(512)])
    assert [r["images_seen"] for r in run.rows()] == [*expected, 512]


def test_append_after_a_kill_mends_the_torn_line(run: RunFolder) -> None:
    run.append([row(64)])
    with open(run.measurements_path, "a") as file:
        file.write('{"images_seen": 128, "no')
    run.append([row(128), row(256)])
    assert [r["images_seen"] for r in run.rows()] == [64, 128, 256]


@pytest.mark.parametrize("damage", [b"\x00\x00\n", b"{half\n", b"\xff\xfe\n"])
def test_damage_in_the_middle_is_not_read_as_the_end(run: RunFolder, damage: bytes) -> None:
    line = json.dumps(row(64)).encode() + b"\n"
    run.measurements_path.write_bytes(line + damage + line + line)
    with pytest.raises(RunFailed, match="damaged"):
        run.rows()


def test_what_is_dropped_is_logged_and_a_finished_run_is_left_alone(run: RunFolder) -> None:
    run.append([row(64), row(128)])
    assert run.drop_rows_after(64) == 1
    assert run.drop_rows_after(64) == 0
    events = [json.loads(line) for line in run.log_path.read_text().splitlines()]
    assert [(e["event"], e["dropped"]) for e in events] == [("rows dropped", 1)]
    assert "T" in events[0]["time"]
    assert not run.done
    run.finish({"seconds": 3})
    assert run.done
    assert run.outcome() == {"seconds": 3}
    with pytest.raises(RunFailed, match="finished"):
        run.drop_rows_after(0)
    with pytest.raises(RunFailed, match="finished"):
        run.finish({"seconds": 4})
    assert run.outcome() == {"seconds": 3}
    assert len(run.rows()) == 1


def test_find_by_prefix(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for address in ("abc000000000", "abc111111111", "def000000000", "def111111111"):
        (tmp_path / "runs" / address).mkdir(parents=True)
    for address in ("abc000000000", "abc111111111", "def000000000"):
        (tmp_path / "runs" / address / "config.json").write_text("{}")
    (tmp_path / "runs" / "notes").mkdir()
    assert [run.address for run in store.runs()] == ["abc000000000", "abc111111111", "def000000000"]
    assert store.find("abc1").address == "abc111111111"
    assert store.find("d").address == "def000000000"  # a folder without config is no run
    for prefix, reason in (("abc", "2 runs"), ("f", "no run"), ("", "no run address"), ("../x", "no run address")):
        with pytest.raises(UserError, match=reason):
            store.find(prefix)


def test_a_copied_store_is_the_same_store(run: RunFolder, tmp_path: Path) -> None:
    run.append([row(64)])
    run.finish({"seconds": 1})
    shutil.copytree(tmp_path / "store", tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "store")
    copied = Store(tmp_path / "elsewhere").find(run.address)
    assert copied.done
    assert copied.config() == {"name": "é", "rate": 0.1}
    assert copied.rows() == [row(64)]
    text = "".join(p.read_text() for p in copied.path.rglob("*") if p.is_file())
    assert str(tmp_path) not in text


def test_a_root_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "store")
    run = store.run("0" * 12)
    for attempt in (store.prepare, lambda: run.append([row(1)]), lambda: run.lock().__enter__()):
        with pytest.raises(UserError, match="--store") as failure:
            attempt()
        assert "\n" not in str(failure.value)


def test_prepare_leaves_only_the_folder(tmp_path: Path) -> None:
    Store(tmp_path / "a" / "b").prepare()
    assert list((tmp_path / "a" / "b").iterdir()) == []


HOLDER = """
import sys, time
from recombine.lab.store import RunFolder
from pathlib import Path
with RunFolder(Path(sys.argv[1])).lock():
    print("held", flush=True)
    time.sleep(120)
"""


@pytest.fixture
def holder(run: RunFolder):  # type: ignore[no-untyped-def]
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(run.path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_held_run_is_busy_and_a_killed_holder_lets_go(run: RunFolder, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(Busy, match=str(holder.pid)), run.lock(wait=False):
        pytest.fail("two processes hold one run")
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with run.lock(wait=False):
        assert (run.path / "lock").read_text() == f"{os.getpid()}\n"


def test_waiting_is_said_and_ends_when_the_holder_is_killed(run: RunFolder, holder: subprocess.Popen[str]) -> None:
    waiting, got = threading.Event(), threading.Event()

    def wait_for_it() -> None:
        with run.lock(wait=True, on_wait=waiting.set):
            got.set()

    thread = threading.Thread(target=wait_for_it)
    thread.start()
    assert waiting.wait(30)
    assert not got.is_set()
    os.kill(holder.pid, signal.SIGKILL)
    thread.join(30)
    assert got.is_set()


def test_the_lock_is_let_go_after_an_error_and_errors_inside_pass_through(run: RunFolder) -> None:
    with pytest.raises(FileNotFoundError), run.lock():
        (run.path / "nothing here").read_text()
    said = []
    with run.lock(wait=False, on_wait=lambda: said.append(1)):
        pass
    assert said == []
