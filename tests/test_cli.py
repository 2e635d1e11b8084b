"""The command line."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recombine.lab.experiment import make_plan
from recombine.lab.store import RunFolder, Store
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.training.replica import Replica
from support.commands import ENVIRONMENT, NAME, ONE_CORE, SETS, SMOKE, Call, assert_refused, listing, only_run

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]

# Wrong use: nothing is written

WRONG: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "unknown experiment": (("run", "concept-graphs/emergense"), ("did you mean 'concept-graphs/emergence'",)),
    "far-off experiment": (("run", "zzz"), ("recombine list",)),
    "unknown command": (("rnu",), ("'rnu'", "run")),
    "no command": ((), ("--help",)),
    "no experiment": (("run",), ("STUDY/EXPERIMENT",)),
    "unknown flag": ((*SMOKE, "--sede", "1"), ("--sede",)),
    "unknown key": ((*SMOKE, "--set", "training.bach=4"), ("'training.bach'", "did you mean 'training.batch'")),
    "unknown section": ((*SMOKE, "--set", "trainig.batch=4"), ("did you mean 'training'",)),
    "key below a value": ((*SMOKE, "--set", "training.batch.size=4"), ("training.batch",)),
    "wrong type": ((*SMOKE, "--set", "training.batch=many"), ("training.batch", "integer")),
    "out of range": ((*SMOKE, "--set", "training.batch=0"), ("training.batch", "greater than 0")),
    "infinite": ((*SMOKE, "--set", "training.rate=.inf"), ("training.rate",)),
    "section as value": ((*SMOKE, "--set", "training=5"), ("training",)),
    "set without equals": ((*SMOKE, "--set", "training.batch"), ("--set training.batch", "section.key=value")),
    "set without key": ((*SMOKE, "--set", "=4"), ("section.key=value",)),
    "set of broken YAML": ((*SMOKE, "--set", "split.train=[1"), ("YAML",)),
    "empty split": ((*SMOKE, "--set", "split.train=[]"), ("trains on nothing",)),
    "tested and trained": ((*SMOKE, "--set", 'split.test=["000"]'), ("'000'", "take it out")),
    "unknown node": ((*SMOKE, "--set", 'split.train=["000", "002"]'), ("no node '002'",)),
    "node of other length": ((*SMOKE, "--set", 'split.test=["11"]'), ("no node '11'",)),
    "network too deep": ((*SMOKE, "--set", "network.multipliers=[1,1,1,1,1]"), ("halved",)),
    "unknown budget": (("run", NAME, "--budget", "huge"), ("'huge'", "smoke", "laptop", "full")),
    "no seeds": ((*SMOKE, "--seeds", "0"), ("--seeds 0", "at least one")),
    "seeds in words": ((*SMOKE, "--seeds", "two"), ("--seeds", "two")),
    "no workers": ((*SMOKE, "--workers", "0"), ("--workers",)),
    "fewer than no workers": ((*SMOKE, "--seeds", "2", "--workers", "-1"), ("--workers",)),
    "unknown device": ((*SMOKE, "--device", "nonsense"), ("'nonsense'", "auto, cpu, cuda")),
    "unknown engine": ((*SMOKE, "--engine", "nonsense"), ("'nonsense'", "local")),
    "run that is not planned": ((*SMOKE, "--only", "continuous:7"), ("continuous:0",)),
    "report before any run": (("report", NAME, "--budget", "smoke"), ("run it first",)),
    "import of what is not published": (("import", "local-scores/sdxl-pixels"), ("nothing", "is published")),
    "figure before any run": (("figure", NAME, "--budget", "smoke"), ("run the experiment first",)),
    "sample of no run": (("sample", "abc"), ("no run", "recombine status")),
    "claims of no study": (("claims", "nope"), ("no experiment 'nope'",)),
    "far too many seeds": ((*SMOKE, "--seeds", "1000000000"), ("at most 10,000",)),
    "a seed below zero": ((*SMOKE, "--set", "seeds.data=-3"), ("seeds.data", "greater than or equal to 0")),
    "renewal of a part": (("report", NAME, "--results", "--only", "continuous:0"), ("no other option",)),
    "import of another budget": (("import", NAME, "--budget", "smoke"), ("--budget full",)),
    "sample of no address": (("sample", "../x"), ("no run address",)),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_use_is_one_line_and_writes_nothing(call: Call, tmp_path: Path, case: str) -> None:
    words, says = WRONG[case]
    with_store = words and words[0] != "rnu"
    assert_refused(call(*words, *(("--store", tmp_path / "store") if with_store else ())), 2, *says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="has a GPU")
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
@pytest.mark.parametrize("budget", [("--budget", "smoke"), ()])
def test_a_gpu_that_is_not_there(call: Call, tmp_path: Path, device: str, budget: tuple[str, ...]) -> None:
    answer = call("run", NAME, *budget, "--device", device, "--store", tmp_path / "store")
    assert_refused(answer, 2, "no GPU", "--device cpu")
    assert list(tmp_path.iterdir()) == []


def test_a_store_below_a_file(call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    answer = call(*SMOKE, "--store", tmp_path / "file" / "store")
    assert_refused(answer, answer.status or 1, "--store")
    assert answer.status in (1, 2)
    for command in (("status",), ("report", NAME, "--budget", "smoke"), ("sample", "abc")):
        assert_refused(call(*command, "--store", tmp_path / "file" / "store"), 2)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--condition", "222"), "no node '222'"),
        (("--condition", "shape=circle"), "shape, color, size"),
        (("--condition", "shape=hexagon,color=red,size=large"), "circle, triangle"),
        (("--count", "0"), "--count 0"),
        (("--count", "-2"), "--count -2"),
    ],
)
def test_samples_that_cannot_be_drawn(
    call: Call, smoke_store: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    address = only_run(smoke_store).address
    assert_refused(call("sample", address, *words, "--store", smoke_store, "--out", tmp_path / "a.png"), 2, says)
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_the_traceback(call: Call, tmp_path: Path) -> None:
    for words in (("--debug", "run", "zzz"), ("run", "zzz", "--debug")):
        answer = call(*words, "--store", tmp_path)
        assert answer.status == 2
        assert "Traceback (most recent call last)" in answer.err
        assert answer.err.splitlines()[-1].startswith("recombine: no experiment 'zzz'")


# Failed runs: what was there stays


def test_list(call: Call) -> None:
    answer = call("list", "--json")
    assert (answer.status, answer.err) == (0, "")
    [row] = [row for row in json.loads(answer.out) if row["address"] == NAME]
    assert set(row) == {"address", "question", "figure", "budgets", "claims"}
    assert row["question"].endswith("?")
    assert set(row["budgets"]) == {"smoke", "laptop", "full"}
    assert all(set(claim) == {"claim", "says", "paper", "check"} for claim in row["claims"])
    text = call("list").out
    assert NAME in text
    assert row["question"] in text


CLAIM = {"claim", "study", "experiment", "budget", "says", "paper", "estimate", "interval", "n", "verdict"}


def test_claims_of_the_store(call: Call, smoke_store: Path, tmp_path: Path) -> None:
    answer = call("claims", "--json", "--store", smoke_store)
    assert (answer.status, answer.err) == (0, "")
    claims = json.loads(answer.out)
    assert [c["claim"] for c in claims] == [c.id for c in EXPERIMENT.claims]
    assert all(set(c) >= CLAIM for c in claims)
    assert {(c["study"], c["experiment"], c["budget"]) for c in claims} == {("concept-graphs", "emergence", "smoke")}
    assert {c["verdict"] for c in claims} == {"undecided"}  # one seed decides nothing
    for study, count in (("concept-graphs", len(claims)), (NAME, len(claims)), ("bumps", 0)):
        assert len(json.loads(call("claims", study, "--json", "--store", smoke_store).out)) == count
    printed = call("claims", "--store", smoke_store).out
    assert all(claim.id in printed.split() for claim in EXPERIMENT.claims)
    assert "no claims judged yet" in call("claims", "--store", tmp_path / "none").out
    assert not (tmp_path / "none").exists()


def test_plan_prints_commands_that_make_the_same_runs(call: Call, tmp_path: Path) -> None:
    """Words with spaces, quotes and brackets too: a shell must hand them on as they were."""
    store = tmp_path / "my store"
    words = ("--budget", "smoke", "--seeds", "2", *SETS, "--set", 'split.train=["000", "001"]', "--store", store)
    answer = call("plan", NAME, *words, "--json")
    rows = json.loads(answer.out)
    assert [(row["arm"], row["seed"], row["images"]) for row in rows] == [
        ("continuous", 0, 256),
        ("continuous", 1, 256),
    ]
    assert call("plan", NAME, *words).out.splitlines() == [row["command"] for row in rows]
    for row in rows:
        first, verb, *rest = shlex.split(row["command"])
        assert (first, verb) == ("recombine", "run")
        [same] = json.loads(call("plan", *rest, "--json").out)
        assert same["address"] == row["address"]
    assert not store.exists()


def test_a_planned_command_runs_in_a_shell(call: Call, tmp_path: Path) -> None:
    commands = call("plan", NAME, "--budget", "smoke", "--seeds", 2, *SETS, "--store", tmp_path).out.splitlines()
    line = commands[1].replace("recombine", shlex.join([sys.executable, "-c", ONE_CORE]), 1)
    done = subprocess.run(line, shell=True, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    assert run.done
    assert run.config()["seeds"]["init"] == 1
    assert not (tmp_path / "experiments").exists()


def test_status_of_an_experiment_names_its_arms(call: Call, smoke_store: Path) -> None:
    asked = ("status", NAME, "--budget", "smoke", "--store", smoke_store)
    rows = json.loads(call(*asked, "--json").out)
    planned = {run.address: (run.arm, run.seed) for run in make_plan(EXPERIMENT, "smoke").runs}
    assert {row["run"]: (row["arm"], row["seed"]) for row in rows} == planned
    assert f"seed 0, {rows[0]['arm']}" in call(*asked).out


def test_bench_needs_a_time(call: Call) -> None:
    for seconds in ("nan", "-1", "0", "soon"):
        assert_refused(call("bench", "--seconds", seconds), 2, "--seconds", seconds)


def test_status(call: Call, smoke_copy: Path, tiny: RunConfig) -> None:
    stopped = Store(smoke_copy).run(tiny.address)
    stopped.write_config(tiny)
    stopped.append([{"images_seen": 32, "node": "000", "distance": 0, "instrument": "reader.product", "value": 0.0}])
    states = {r["run"]: r for r in json.loads(call("status", "--json", "--store", smoke_copy).out)}
    assert states[tiny.address] == {
        "run": tiny.address, "kind": "training", "state": "stopped", "measured_to": 32, "images": 256, "seed": 0,
    }  # fmt: skip
    [finished] = [row for row in states.values() if row["state"] == "done"]
    assert (finished["measured_to"], finished["images"]) == (1024, 1024)
    with stopped.lock():
        states = {r["run"]: r["state"] for r in json.loads(call("status", "--json", "--store", smoke_copy).out)}
        assert states[tiny.address] == "running"
        assert "running" in call("status", "--store", smoke_copy).out
    assert "no runs" in call("status", "--store", smoke_copy / "none").out
    assert json.loads(call("status", "--json", "--store", smoke_copy / "none").out) == []


def test_status_says_of_a_computation_what_it_is(call: Call, tmp_path: Path) -> None:
    assert call("run", "concept-graphs/toy", "--budget", "smoke", "--no-report", "--store", tmp_path).status == 0
    (row,) = json.loads(call("status", "--json", "--store", tmp_path).out)
    assert (row["kind"], row["state"]) == ("computation", "done")
    assert "computation" in call("status", "--store", tmp_path).out


def test_sample(call: Call, smoke_store: Path, tmp_path: Path) -> None:
    out = tmp_path / "drawn" / "a.png"
    conditions = ("--condition", "111", "--condition", "shape=circle,color=red,size=large")
    address = only_run(smoke_store).address[:5]
    answer = call("sample", address, *conditions, "--count", "2", "--store", smoke_store, "--out", out)
    assert (answer.status, answer.out.strip(), answer.err) == (0, str(out), "")
    assert out.read_bytes().startswith(b"\x89PNG")


# Nothing is trained twice


@pytest.fixture
def no_training(smoke_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replica, "step", lambda self: pytest.fail("trained"))


@pytest.mark.usefixtures("no_training", "quick_figures")
def test_a_finished_run_and_a_copied_folder_are_not_trained_again(
    call: Call, smoke_store: Path, smoke_copy: Path, tmp_path: Path
) -> None:
    before = listing(smoke_copy / "runs")
    answer = call(*SMOKE, "--json", "--store", smoke_copy)
    assert answer.status == 0
    assert [c["claim"] for c in json.loads(answer.out)] == [c.id for c in EXPERIMENT.claims]
    assert listing(smoke_copy / "runs") == before
    address = only_run(smoke_store).address
    shutil.copytree(smoke_store / "runs" / address, tmp_path / "new" / "runs" / address)
    assert call(*SMOKE, "--store", tmp_path / "new").status == 0
    assert (tmp_path / "new" / "experiments" / NAME / "smoke" / "report.html").exists()


@pytest.mark.usefixtures("no_training", "quick_figures")
def test_report_and_figure_are_made_again_without_training(call: Call, smoke_copy: Path) -> None:
    folder = smoke_copy / "experiments" / NAME / "smoke"
    (folder / "report.html").unlink()
    (folder / "figure.png").unlink()
    answer = call("figure", NAME, "--budget", "smoke", "--store", smoke_copy)
    assert answer.status == 0
    assert answer.out.splitlines()[0] == str(folder / "figure.png")
    assert (folder / "figure.png").exists()
    answer = call("report", NAME, "--budget", "smoke", "--store", smoke_copy)
    assert answer.status == 0
    assert f"report: {(folder / 'report.html').resolve()}" in answer.out
    assert "<html" in (folder / "report.html").read_text()


@pytest.mark.usefixtures("no_training", "quick_figures")
def test_publish_writes_the_evidence_where_the_command_is_given(
    call: Call, smoke_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "pyproject.toml").touch()
    monkeypatch.chdir(checkout)
    assert json.loads(call("claims", "--results", "--json").out) == []
    answer = call("report", NAME, "--budget", "smoke", "--store", smoke_copy, "--publish")
    assert answer.status == 0
    assert f"evidence: {checkout / 'results' / NAME}" in answer.out
    assert {"claims.json", "table.parquet", "provenance.json", "figure.png"} <= {
        p.name for p in (checkout / "results" / NAME).iterdir()
    }
    assert (checkout / "results" / NAME / "README.md").read_text().startswith(f"# {NAME}")
    published = json.loads(call("claims", "--results", "--json").out)
    assert published == json.loads(call("claims", "--json", "--store", smoke_copy).out)
    imported = ("import", NAME, "--budget", "smoke", "--seeds", "2", "--store", tmp_path / "new")
    count = len(make_plan(EXPERIMENT, "smoke").runs)
    assert json.loads(call(*imported, "--json").out) == {"imported": count, "others": 0, "missing": count}
    assert call(*imported).out.startswith(f"{count} runs of {NAME} are in ")


# Machines that only train

BLOCKED = """
import os, sys
os.cpu_count = lambda: 1
sys.modules.update(dict.fromkeys(("polars", "matplotlib", "jinja2", "PIL")))
from recombine.cli import main
words = sys.argv[1:]
print(main([*words, "--no-report"]), main(words), flush=True)
print(main(["report", *words[1:]]), main(["figure", *words[1:]]))
"""


def test_training_needs_nothing_that_only_draws(tmp_path: Path, tiny_run: RunFolder) -> None:
    words = [sys.executable, "-c", BLOCKED, *SMOKE, *SETS, "--store", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    complaints = [line for line in done.stderr.splitlines() if line.startswith("recombine: ")]
    assert done.stdout.split()[:2] == ["0", "2"], done.stderr
    assert "not installed" in complaints[0]
    assert "recombine report" in complaints[0]
    assert only_run(tmp_path).weights_path.read_bytes() == tiny_run.weights_path.read_bytes()
    assert done.stdout.split()[2:] == ["2", "2"], done.stderr
    assert ["not installed" in line for line in complaints] == [True, True, True]


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("polars", ("report", NAME, "--budget", "smoke")),
        ("polars", ("figure", NAME, "--budget", "smoke")),
        ("PIL", ("sample", "RUN")),
    ],
)
def test_a_single_missing_package_is_named(
    call: Call, smoke_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, words: tuple[str, ...]
) -> None:
    address = only_run(smoke_copy).address
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)
    answer = call(*(address if word == "RUN" else word for word in words), "--store", smoke_copy)
    assert_refused(answer, 2, f"'{missing}'", "not installed")


def test_a_reader_that_leaves_is_no_error(smoke_store: Path) -> None:
    """As `recombine status | head -0` does."""
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "recombine.cli", "status", "--store", str(smoke_store)]
    buffered = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True, env=buffered, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_setting_is_taken_from_the_command_line(call: Call, tmp_path: Path) -> None:
    answer = call("plan", NAME, "--budget", "smoke", "--set", "training.rate=5e-4", "--store", tmp_path, "--json")
    base = make_plan(EXPERIMENT, "smoke").runs[0].config
    assert json.loads(answer.out)[0]["address"] == override(base, {"training.rate": 5e-4}).address
