"""Runs in processes of their own, ended at every kind of moment and started again: they end as if never stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pytest

from recombine.files import read_rows
from recombine.lab.execute.jobs import train_runs
from recombine.lab.experiment import make_plan
from recombine.lab.store import Busy, RunFolder, Store
from recombine.runs.concept_graph import RunConfig
from recombine.studies import EXPERIMENTS
from recombine.training.execution import Execution
from recombine.training.state import load_tensors

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]
Finish = Callable[..., RunFolder]

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
SMALL = {"network.channels": 4, "network.multipliers": [1], "evaluation.audit": None, "evaluation.points": 2}
SMOKE = ["run", "concept-graphs/emergence", "--budget", "smoke", "--no-report",
         *(word for key, value in SMALL.items() for word in ("--set", f"{key}={json.dumps(value)}"))]  # fmt: skip

# Forks a process for each line of input, `store <tab> n`; the process ends itself at its n-th flush to disk.
NURSERY = """
import os, signal, sys
from recombine.lab.execute.jobs import train_runs
from recombine.runs.concept_graph import RunConfig
from recombine.lab.store import Store
from recombine.training.execution import Execution

config, fsync, count = RunConfig.model_validate_json(sys.argv[1]), os.fsync, 0
for line in sys.stdin:
    root, last = line.rstrip().split("\\t")
    child = os.fork()
    if child == 0:
        def counted(handle):
            global count
            count += 1
            if count == int(last):
                os.kill(os.getpid(), signal.SIGKILL)
            fsync(handle)
        os.fsync = counted
        train_runs([config], Store(root), Execution.fastest("cpu"), lambda news: None, save_seconds=0)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


# The command line on a machine of one core: the bits of a run then do not depend on where it is tested.
# Forks a process for each line of input, a command and the file for its standard error; a number asks how it ended.
COMMANDS = """
import json, os, sys
import recombine.lab.report.conclude, recombine.lab.execute.jobs
from recombine.cli import main

os.cpu_count = lambda: 1
for line in sys.stdin:
    asked = json.loads(line)
    if isinstance(asked, int):
        ended, status = os.waitpid(asked, os.WNOHANG)
        print(json.dumps(os.waitstatus_to_exitcode(status) if ended else None), flush=True)
        continue
    child = os.fork()
    if child == 0:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open(asked["said"], os.O_WRONLY), 2)
        sys.exit(main(asked["words"]))
    print(child, flush=True)
"""


class Command:
    """The command line in a process and a process group of its own, started without paying for its imports."""

    def __init__(self, commands: subprocess.Popen[str], said: Path, words: list[str]) -> None:
        self.commands, self.path = commands, said
        said.touch()
        self.pid = int(self._ask({"words": words, "said": str(said)}))

    @property
    def said(self) -> str:
        return self.path.read_text()

    def wait(self, seconds: float) -> int:
        """Its exit status."""
        status: list[int] = []

        def ended() -> bool:
            answer = self._ask(self.pid)
            status.extend([] if answer is None else [answer])
            return bool(status)

        wait_until(ended, seconds, pause=0.02)
        return status[0]

    def _ask(self, question: Any) -> Any:
        _pipe(self.commands.stdin).write(json.dumps(question) + "\n")
        _pipe(self.commands.stdin).flush()
        return json.loads(_pipe(self.commands.stdout).readline())


@pytest.fixture(scope="module")
def commands() -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", COMMANDS]
    made = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    yield made
    _pipe(made.stdin).close()
    assert made.wait(30) == 0
    _pipe(made.stdout).close()


class Nursery:
    """Starts the tiny run in fresh processes without paying for their imports."""

    def __init__(self, config: RunConfig) -> None:
        words = [sys.executable, "-c", NURSERY, config.model_dump_json()]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
        )

    def start(self, root: Path, last: int = 0) -> int:
        """The process that trains, which ends itself at flush number `last`."""
        _pipe(self.process.stdin).write(f"{root}\t{last}\n")
        _pipe(self.process.stdin).flush()
        return int(_pipe(self.process.stdout).readline())

    def wait(self) -> int:
        return int(_pipe(self.process.stdout).readline())


@pytest.fixture(scope="module")
def nursery(tiny: RunConfig) -> Iterator[Nursery]:
    made = Nursery(tiny)
    yield made
    _pipe(made.process.stdin).close()
    assert made.process.wait(30) == 0
    _pipe(made.process.stdout).close()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def wait_until(happened: Callable[[], bool], seconds: float = 60, pause: float = 0.001) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(pause)


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def held(run: RunFolder) -> bool:
    try:
        with run.lock(wait=False):
            return False
    except Busy:
        return True


def events(run: RunFolder) -> list[str]:
    return [row["event"] for row in read_rows(run.log_path)]


def assert_same(run: RunFolder, other: RunFolder) -> None:
    for name in ("weights.safetensors", "measurements.jsonl", "checkpoint.safetensors"):
        assert (run.path / name).read_bytes() == (other.path / name).read_bytes(), name


MOMENTS: dict[str, Callable[[RunFolder], bool]] = {
    "config written": lambda run: run.exists,
    "calibration written": lambda run: size(run.measurements_path) > 0,
    "first checkpoint": lambda run: run.checkpoint_path.exists(),
    "third checkpoint": lambda run: events(run).count("saved") >= 3,
    "first samples": lambda run: (run.path / "samples").exists(),
    "half the rows": lambda run: size(run.measurements_path) > 25_000,
    "weights written": lambda run: run.weights_path.exists(),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_from_outside_and_started_again(
    nursery: Nursery, tiny: RunConfig, tiny_run: RunFolder, finish: Finish, tmp_path: Path, moment: str
) -> None:
    run = Store(tmp_path).run(tiny.address)
    process = nursery.start(tmp_path)
    wait_until(lambda: MOMENTS[moment](run))
    os.kill(process, signal.SIGKILL)
    assert nursery.wait() in (-signal.SIGKILL, 0)  # 0: it was faster
    assert not held(run)
    if run.checkpoint_path.exists():
        assert int(load_tensors(run.checkpoint_path, run.address)["seen"]) > 0
    assert_same(finish(tiny, tmp_path), tiny_run)


def test_killed_at_one_flush_after_another_until_it_gets_through(
    nursery: Nursery, tiny: RunConfig, tiny_run: RunFolder, tmp_path: Path
) -> None:
    """A chain of processes on one store, each killed a few writes after it began."""
    statuses = []
    for attempt in range(40):
        nursery.start(tmp_path, last=(1, 2, 4, 5, 6, 7)[attempt] if attempt < 6 else 10 + attempt % 4)
        statuses.append(nursery.wait())
        if statuses[-1] == 0:
            break
    assert set(statuses) == {-signal.SIGKILL, 0}
    assert statuses.count(-signal.SIGKILL) >= 8
    run = Store(tmp_path).run(tiny.address)
    assert run.done
    assert_same(run, tiny_run)
    assert events(run).count("resumed") >= 2


def test_control_c_says_how_to_go_on_and_the_same_command_does(
    commands: subprocess.Popen[str], call: Callable[..., Any], tmp_path: Path
) -> None:
    words = [*SMOKE, "--set", "training.images=3200", "--store", str(tmp_path / "stopped")]
    command = Command(commands, tmp_path / "said", words)
    wait_until(lambda: command.said.count("loss") >= 2, pause=0.02)
    os.kill(command.pid, signal.SIGINT)
    assert command.wait(60) == 130
    assert "Traceback" not in command.said
    assert command.said.splitlines()[-1].startswith("recombine: stopped")
    assert "same command again" in command.said.splitlines()[-1]
    config = make_plan(EXPERIMENT, "smoke", 1, SMALL | {"training.images": 3200}).runs[0].config
    run = Store(tmp_path / "stopped").run(config.address)
    assert not run.done
    assert events(run) == ["started", "saved"]
    assert call(*words).status == 0
    assert events(run) == ["started", "saved", "resumed", "saved"]
    train_runs([config], Store(tmp_path / "whole"), Execution.fastest("cpu"), lambda news: None)
    assert_same(run, Store(tmp_path / "whole").run(config.address))


def test_two_processes_asked_for_the_same_run_train_it_once(commands: subprocess.Popen[str], tmp_path: Path) -> None:
    words = [*SMOKE, "--set", "training.images=512", "--store", str(tmp_path)]
    both = [Command(commands, tmp_path.with_name(f"said-{number}"), words) for number in range(2)]
    assert [command.wait(120) for command in both] == [0, 0], [command.said for command in both]
    assert not any("Traceback" in command.said for command in both)
    [run] = Store(tmp_path).runs()
    assert run.done
    assert events(run) == ["started", "saved"]


@pytest.fixture
def pool(commands: subprocess.Popen[str], tmp_path: Path) -> Iterator[tuple[Command, list[RunFolder]]]:
    """Two workers in the middle of four long runs; the runs that are under way."""
    words = [*SMOKE, "--seeds", "4", "--workers", "2", "--set", "training.images=100000000", "--store", str(tmp_path)]
    command = Command(commands, tmp_path.with_name("said-pool"), words)
    planned = make_plan(EXPERIMENT, "smoke", 4, SMALL | {"training.images": 100_000_000}).runs
    runs = [Store(tmp_path).run(run.address) for run in planned[:2]]
    wait_until(lambda: all("started" in events(run) for run in runs))
    yield command, runs
    with suppress(ProcessLookupError):
        os.killpg(command.pid, signal.SIGKILL)


def test_control_c_stops_all_workers_and_begins_no_further_run(
    pool: tuple[Command, list[RunFolder]], tmp_path: Path
) -> None:
    command, runs = pool
    time.sleep(0.3)  # some steps; no moment in particular
    os.killpg(command.pid, signal.SIGINT)  # as a terminal does
    assert command.wait(15) == 130, f"{[r.address for r in Store(tmp_path).runs() if held(r)]} in training"
    assert "Traceback" not in command.said
    assert command.said.splitlines()[-1].startswith("recombine: stopped")
    assert [run.address for run in Store(tmp_path).runs()] == sorted(run.address for run in runs)
    for run in runs:
        assert events(run) == ["started", "saved"]
        assert not held(run)


def test_workers_end_with_their_parent_and_status_sees_it(
    pool: tuple[Command, list[RunFolder]], call: Callable[..., Any], tmp_path: Path
) -> None:
    def states() -> list[str]:
        answer = call("status", "--json", "--store", tmp_path)
        assert answer.status == 0
        return sorted(row["state"] for row in json.loads(answer.out))

    command, runs = pool
    assert states() == ["running", "running"]
    assert all(held(run) for run in runs)
    os.kill(command.pid, signal.SIGKILL)
    assert command.wait(30) == -signal.SIGKILL
    wait_until(lambda: not any(held(run) for run in runs), 20)
    assert states() == ["stopped", "stopped"]
