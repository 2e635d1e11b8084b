"""A file of a few lines is an experiment like any other: planned, run, judged and reported; a wrong one is one line."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recombine.diffusion.schedules import EDMSchedule
from recombine.errors import UserError
from recombine.lab.execute.workers import Pack, run_packs
from recombine.lab.experiment import BUDGETS, Experiment, make_plan
from recombine.lab.report.conclude import command_of
from recombine.lab.store import Store
from recombine.lab.user_experiment import is_file, load_user_experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.adversarial import experiment as adversarial
from recombine.studies.concept_graphs.emergence import experiment as emergence
from recombine.training.execution import Execution

Call = Callable[..., Any]
Write = Callable[..., Path]

EMERGENCE = EXPERIMENTS["concept-graphs/emergence"]
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "squares.yaml"
BASE = "experiment: concept-graphs/emergence\n"
MINE = """\
experiment: concept-graphs/emergence
question: Does a rare corner hold the others back?
seeds: 3
prediction: x0
world: {shapes: [circle, square], position_jitter: 0.0}
split:
  train: ["000", "001", "010", "100", "111"]
  frequencies: {"111": 0.05, "000": 2}
  count: {"111": 20, "000": 30}
evaluation: {audit: {points: 2}, sampler: {steps: 3}}
"""
CHANGES = {
    "prediction": "x0",
    "world.shapes": ["circle", "square"],
    "world.position_jitter": 0.0,
    "split.train": ["000", "001", "010", "100", "111"],
    "split.frequencies": {"111": 0.05, "000": 2},
    "split.count": {"111": 20, "000": 30},
    "evaluation.sampler.steps": 3,
}
# What makes a smoke run as short as it can be.
QUICK = ("training.images=64", "training.batch=16", "network.channels=4", "network.multipliers=[1]",
         "evaluation.first=32", "evaluation.points=2", "evaluation.images_per_node=2", "evaluation.sampler.steps=2",
         "evaluation.audit=null", "evaluation.calibration_images=4", "evaluation.sheet_points=1")  # fmt: skip
SETS = tuple(word for text in QUICK for word in ("--set", text))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of one's own, beside the store and not in it."""

    def make(content: str | bytes, name: str = "mine.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def load(path: Path) -> Experiment:
    return load_user_experiment(path, EXPERIMENTS)


def test_a_file_is_known_by_its_ending() -> None:
    assert all(is_file(name) for name in ("a.yaml", "b/c.yml", "d.py", str(EXAMPLE)))
    assert not any(is_file(name) for name in (*EXPERIMENTS, "emergence", "a.json", "yaml", ""))


def test_ten_lines_are_an_experiment(write: Write) -> None:
    path = write(MINE)
    experiment, base = load(path), EMERGENCE
    assert len(MINE.splitlines()) == 10
    assert (experiment.address, experiment.typed) == ("user/mine", str(path))
    assert experiment.question == "Does a rare corner hold the others back?"
    assert base.address in experiment.figure
    assert experiment.draw is base.draw
    assert base.address in experiment.assumptions[-1]
    assert "prediction x0" in experiment.assumptions[-1]
    assert set(experiment.budgets) == set(BUDGETS)
    for name, budget in experiment.budgets.items():
        assert budget.seeds == 3
        assert set(budget.arms) == set(base.budgets[name].arms)
        for arm, config in budget.arms.items():
            original = base.budgets[name].arms[arm]
            assert isinstance(original, RunConfig)
            audit = {"evaluation.audit": {"points": 2}} if original.evaluation.audit is None else {}
            points = {} if audit else {"evaluation.audit.points": 2}
            assert config == override(original, {**CHANGES, **audit, **points})
        assert [run.seed for run in make_plan(experiment, name).runs] == [0, 1, 2] * len(budget.arms)
    assert make_plan(EMERGENCE, "smoke").runs[0].config == emergence.SMOKE  # the paper's own is as it was


def test_the_example_of_the_documentation() -> None:
    experiment = load(EXAMPLE)
    assert len(EXAMPLE.read_text().splitlines()) <= 10
    assert experiment.address == "user/squares"
    assert experiment.question.startswith("Does a model that saw green circles and a few magenta squares")
    for name in BUDGETS:
        plan = make_plan(experiment, name)  # every arm can be run
        assert len(plan.runs) == len(make_plan(EMERGENCE, name).runs)
        for run in plan.runs:
            assert isinstance(run.config, RunConfig)
            split, world = run.config.split, run.config.world
            assert world.describe("111") == "square magenta small"
            assert split.trained == ("000", "010", "020", "001", "111")
            assert [split.frequency(node) for node in split.trained] == [1, 1, 1, 1, 0.25]
            assert len(split.held_out(world)) == 12 - 5


def test_claims_that_speak_of_the_papers_classes_are_left_out(write: Write) -> None:
    kept = {claim.id for claim in load(write(BASE)).claims}
    assert kept == {claim.id for claim in EMERGENCE.claims if claim.general} == {"O1", "O5"}
    assert load(write("experiment: concept-graphs/adversarial\n")).claims == ()


def test_nothing_but_the_experiment_is_that_experiment_again(write: Write) -> None:
    experiment, base = load(write(BASE, "again.yml")), EMERGENCE
    assert experiment.budgets == base.budgets
    assert experiment.question == base.question
    assert experiment.address == "user/again"
    assert experiment.assumptions[-1].endswith("none.")


def test_a_change_reaches_the_run_that_a_run_starts_from(write: Write) -> None:
    text = "experiment: concept-graphs/adversarial\nnetwork: {channels: 4}\ntraining: {images: 96}\n"
    runs = make_plan(load(write(text)), "smoke").runs
    base = next(run.address for run in runs if run.arm == adversarial.BASE)
    starts = [run.config.start for run in runs if isinstance(run.config, RunConfig) and run.config.start is not None]
    assert {start.address for start in starts} == {base}
    assert {(start.network.channels, start.training.images) for start in starts} == {(4, 96)}
    assert len(starts) == 6


def test_an_experiment_without_training_can_be_changed_too(write: Write) -> None:
    [run] = make_plan(load(write("experiment: concept-graphs/toy\nchance: 0.05\natoms: [2, 5]\n")), "smoke").runs
    settings = run.config.model_dump()
    assert (settings["chance"], settings["atoms"]) == (0.05, (2, 5))


def test_a_part_of_another_kind_takes_the_place_of_the_whole(write: Write) -> None:
    """What the part had that was there before says nothing about this one."""
    [run] = make_plan(load(write(BASE + "schedule: {kind: edm, rho: 5}\n")), "smoke").runs
    assert isinstance(run.config, RunConfig)
    assert run.config.schedule == EDMSchedule(rho=5)
    [run] = make_plan(load(write(BASE + "world: {kind: faces, pixels: 8}\nsplit: {count: 2}\n")), "smoke").runs
    assert isinstance(run.config, RunConfig)
    assert run.config.world.model_dump() == {"kind": "faces", "pixels": 8, "partition": "train"}


def test_the_command_that_makes_it_again_names_the_file(write: Write, tmp_path: Path, call: Call) -> None:
    (tmp_path / "my files").mkdir()
    path = write(BASE, "my files/mine.yaml")
    plan = make_plan(load(path), "smoke", 2, {"training.rate": 0.5})
    words = shlex.split(command_of(plan))
    assert words == ["recombine", "run", str(path), "--budget", "smoke", "--seeds", "2", "--set", "training.rate=0.5"]
    planned = json.loads(call("plan", *words[2:], "--json", "--store", tmp_path / "store").out)
    assert [row["address"] for row in planned] == [run.address for run in plan.runs]
    for row in planned:
        assert shlex.split(row["command"])[:3] == ["recombine", "run", str(path)]


# From Python

PYTHON = """\
from dataclasses import replace
from typing import Literal

from recombine.lab.claims import Claim, judge_above
from recombine.lab.experiment import Budget, Experiment
from recombine.runs.work import Computation


class Squares(Computation):
    kind: Literal["squares"] = "squares"
    upto: int = 3

    def rows(self):
        return [{"number": n, "instrument": "square", "value": float(n * n)} for n in range(self.upto)]


EXPERIMENT = Experiment(
    study="mine", name="squares", question="How large are squares?", figure="none", columns={"number": int},
    budgets={"smoke": Budget({"squares": Squares()}, 1, "no time at all")},
    claims=(Claim("M1", "squares are large", "1", lambda table: judge_above(table["value"], 1)),),
    draw=lambda table, config: {},
)
"""


def test_a_python_file_is_an_experiment_of_its_own(write: Write, tmp_path: Path, call: Call) -> None:
    path = write(PYTHON, "squares.py")
    experiment = load(path)
    assert (experiment.address, experiment.typed) == ("mine/squares", str(path))
    answer = call("run", path, "--budget", "smoke", "--set", "upto=4", "--store", tmp_path / "store", "--json")
    assert answer.status == 0, answer.err
    [claim] = json.loads(answer.out)
    assert (claim["claim"], claim["estimate"]) == ("M1", (0 + 1 + 4 + 9) / 4)
    [run] = Store(tmp_path / "store").runs()
    assert run.config()["kind"] == "squares"
    assert [row["value"] for row in run.rows()] == [0, 1, 4, 9]
    [source] = (tmp_path / "store" / "experiments" / "mine" / "squares").glob("*/provenance.json")
    assert json.loads(source.read_text())["command"].startswith(f"recombine run {path} --budget smoke")


def test_what_a_python_file_defines_reaches_another_process(write: Write, tmp_path: Path) -> None:
    """Two seeds on two cores are two processes that begin with nothing; one is enough to see it."""
    [run] = make_plan(load(write(PYTHON, "squares.py")), "smoke").runs
    store = Store(tmp_path / "store")
    assert run_packs([Pack([run.config], Execution.plain("cpu"))], store, lambda news: None, workers=1) == []
    assert [row["value"] for row in store.run(run.address).rows()] == [0, 1, 4]


# Through the command line


@pytest.mark.usefixtures("quick_figures")
def test_a_users_experiment_is_trained_judged_and_reported(tmp_path: Path, call: Call) -> None:
    store = tmp_path / "store"
    answer = call("run", EXAMPLE, "--budget", "smoke", *SETS, "--store", store)
    assert answer.status == 0, answer.err
    assert answer.complaints == []
    [folder] = (store / "experiments" / "user" / "squares").iterdir()
    assert f"report: {(folder / 'report.html').resolve()}" in answer.out
    page = (folder / "report.html").read_text()
    assert "Does a model that saw green circles and a few magenta squares" in page
    assert str(EXAMPLE) in page
    claims = json.loads((folder / "claims.json").read_text())
    assert [(claim["claim"], claim["study"], claim["verdict"]) for claim in claims] == [
        ("O1", "user", "undecided"),
        ("O5", "user", "undecided"),
    ]
    assert {"figure.png", "samples-continuous.png"} <= {p.name for p in folder.iterdir()}
    [run] = Store(store).runs()
    assert {row["node"] for row in run.rows() if row["instrument"] == "reader.product"} == {
        f"{shape}{color}{size}" for shape in range(2) for color in range(3) for size in range(2)
    }


WRONG: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "empty": ("", ("mine.yaml", "must name the experiment it starts from", "experiment: concept-graphs/emergence")),
    "no experiment": ("world: {pixels: 16}", ("mine.yaml", "must name the experiment")),
    "no name": ("experiment: 5", ("mine.yaml", "must name the experiment")),
    "a list": ("[1, 2]", ("mine.yaml", "must name the experiment")),
    "a sentence": ("emergence please", ("mine.yaml", "must name the experiment")),
    "not YAML": (BASE + "world: {pixels: [16", ("mine.yaml is not valid YAML", "line 2")),
    "not YAML either": (BASE + "world: pixels: 16", ("mine.yaml is not valid YAML", "line 2")),
    "a tag": (BASE + "world: !!python/object:os.system {}", ("mine.yaml is not valid YAML",)),
    "not text": (b"\xff\xfe\x00\x01", ("mine.yaml is not valid YAML",)),
    "a null byte": (b"experiment: \x00", ("mine.yaml is not valid YAML",)),
    "unknown experiment": (
        "experiment: concept-graphs/emergense",
        ("no experiment 'concept-graphs/emergense'; did you mean 'concept-graphs/emergence'?",),
    ),
    "far-off experiment": ("experiment: zzz", ("no experiment 'zzz'", "recombine list")),
    "unknown section": (BASE + "trainig: {batch: 4}", ("unknown key 'trainig'; did you mean 'training'?",)),
    "unknown key": (BASE + "training: {bach: 4}", ("'training.bach'", "did you mean 'training.batch'?")),
    "unknown inner key": (BASE + "evaluation: {sampler: {step: 4}}", ("did you mean 'evaluation.sampler.steps'?",)),
    "a number for a key": (BASE + "1: 2", ("unknown key '1'",)),
    "key of another experiment": ("experiment: concept-graphs/toy\ntraining: {images: 9}", ("'training'", "chance")),
    "section as value": (BASE + "training: 5", ("'training' = 5",)),
    "section left empty": (BASE + "training:", ("'training' = None",)),
    "wrong type": (BASE + "training: {batch: many}", ("'training.batch' = 'many'",)),
    "out of range": (BASE + "world: {pixels: 3}", ("'world.pixels' = 3",)),
    "impossible world": (
        BASE + "world: {backgrounds: [white, grey], background_jitter: 0.2}",
        ("white and grey overlap: lower background_jitter",),
    ),
    "a class that the world has not": (BASE + 'split: {train: ["000", "020"]}', ("no node '020'", "red/blue")),
    "a class of a smaller world": (
        BASE + "world: {sizes: [large]}",
        ("no node '000'", "its concepts are shape: circle/triangle, color: red/blue;"),
    ),
    "classes as numbers": (BASE + "split: {train: [000, 010]}", ("'split.train.0' = 0", "string")),
    "a frequency of no class": (BASE + 'split: {frequencies: {"111": 1}}', ("frequencies names '111'", "not trained")),
    "a frequency under a number": (BASE + "split: {frequencies: {111: 1}}", ("split.frequencies.111", "string")),
    "frequencies of zero": (
        BASE + 'split: {frequencies: {"000": 0, "001": 0, "010": 0, "100": 0}}',
        ("the frequencies add up to zero",),
    ),
    "a negative frequency": (BASE + 'split: {frequencies: {"000": -1}}', ("the frequency of '000' is -1",)),
    "no images": (BASE + 'split: {count: {"000": 0}}', ("'000' has no images",)),
    "seeds 0": (BASE + "seeds: 0", ("mine.yaml: seeds is 0, give a number from 1 up",)),
    "fewer than no seeds": (BASE + "seeds: -2", ("seeds is -2",)),
    "seeds in words": (BASE + "seeds: two", ("seeds is 'two'",)),
    "a part of a seed": (BASE + "seeds: 1.5", ("seeds is 1.5",)),
    "seeds listed": (BASE + "seeds: [0, 1]", ("seeds is [0, 1]",)),
    "seeds yes": (BASE + "seeds: yes", ("seeds is True",)),
}
WRONG_PYTHON: dict[str, tuple[str, tuple[str, ...]]] = {
    "without EXPERIMENT": ("x = 1", ("mine.py must define EXPERIMENT", "recombine.lab.experiment.Experiment")),
    "of another type": ("EXPERIMENT = 'emergence'", ("mine.py must define EXPERIMENT",)),
    "that raises": ("1 / 0", ("mine.py cannot be read: ZeroDivisionError: division by zero",)),
    "that raises a page": ("raise ValueError('one line\\nand another')", ("mine.py cannot be read: ValueError",)),
    "that is not Python": ("def", ("mine.py cannot be read: SyntaxError",)),
    "that needs what is not there": ("import no_such_package", ("mine.py cannot be read", "no_such_package")),
    "that refuses itself": ("from recombine.errors import UserError\nraise UserError('lower it')", ("lower it",)),
    "that is wrong settings": (
        "from recombine.settings import override\n"
        "from recombine.studies.concept_graphs.emergence.experiment import SMOKE\n"
        "override(SMOKE, {'training.bach': 4})",
        ("did you mean 'training.batch'?",),
    ),
}


def assert_refused(answer: Any, says: tuple[str, ...]) -> None:
    """Wrong use: exit status 2 and one line that says what to do."""
    assert answer.status == 2, answer
    assert len(answer.err.splitlines()) == 1, answer.err
    assert len(answer.complaints) == 1
    assert answer.out == ""
    for part in says:
        assert part in answer.err


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_yaml_file_is_one_line_and_nothing_is_written(
    call: Call, write: Write, tmp_path: Path, case: str
) -> None:
    content, says = WRONG[case]
    path = write(content)
    assert_refused(call("run", path, "--budget", "smoke", "--no-report", "--store", tmp_path / "store"), says)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("case", WRONG_PYTHON)
def test_a_wrong_python_file_is_one_line_and_nothing_is_written(
    call: Call, write: Write, tmp_path: Path, case: str
) -> None:
    content, says = WRONG_PYTHON[case]
    path = write(content, "mine.py")
    assert_refused(call("run", path, "--budget", "smoke", "--store", tmp_path / "store"), says)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", ["none.yaml", "none.yml", "none.py", "folder.yaml", "no/such/none.yaml"])
def test_a_file_that_is_not_there(call: Call, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.yaml").mkdir()
    answer = call("run", tmp_path / name, "--budget", "smoke", "--store", tmp_path / "store")
    assert_refused(answer, (f"no file {tmp_path / name}", "recombine list"))
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", ["my squares.yaml", "squares.v2.yaml", "größe.yaml"])
def test_a_name_that_no_folder_can_have_is_refused_before_training(
    call: Call, write: Write, tmp_path: Path, name: str
) -> None:
    answer = call("run", write(BASE, name), "--budget", "smoke", *SETS, "--store", tmp_path / "store")
    assert_refused(answer, ("letters, digits",))
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("command", ["plan", "report", "figure"])
def test_other_commands_take_a_file_too(call: Call, write: Write, tmp_path: Path, command: str) -> None:
    store = tmp_path / "store"
    assert_refused(call(command, write("experiment: zzz"), "--budget", "smoke", "--store", store), ("'zzz'",))
    answer = call(command, write(BASE), "--budget", "smoke", "--store", store)
    if command == "plan":
        assert answer.status == 0
        assert str(tmp_path / "mine.yaml") in answer.out
    else:
        assert_refused(answer, ("first",))


def test_a_file_cannot_be_read_from_another_place_by_its_name_alone(write: Write) -> None:
    with pytest.raises(UserError, match=r"no file mine\.yaml"):
        load(Path(write(BASE).name))
