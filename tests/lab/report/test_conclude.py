import json
import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from matplotlib.figure import Figure

from recombine.errors import RunFailed, UserError
from recombine.lab.execute.provenance import describe_machine, device_name, now
from recombine.lab.experiment import Drawing, Plan, PlannedRun, make_plan, no_sheets
from recombine.lab.report.conclude import command_of, conclude, draw_figures, gather_provenance, paragraphs, variant
from recombine.lab.samples import Samples, read_samples
from recombine.lab.store import Store
from recombine.lab.table import Member, collect, read_table, write_table
from recombine.runs.concept_graph import RunConfig
from recombine.studies import EXPERIMENTS
from recombine.training.execution import Execution
from recombine.training.replica import Replica

EXPERIMENT = EXPERIMENTS["concept-graphs/emergence"]


@pytest.fixture
def plan() -> Plan:
    return make_plan(EXPERIMENT, "smoke")


@pytest.fixture(autouse=True)
def _no_training(monkeypatch: pytest.MonkeyPatch, smoke_store: Path) -> None:
    monkeypatch.setattr(Replica, "step", lambda self: pytest.fail("a conclusion must not train"))


def answer_folder(root: Path) -> Path:
    return root / "experiments" / "concept-graphs" / "emergence" / "smoke"


def test_a_conclusion_is_a_function_of_the_runs_alone(plan: Plan, smoke_copy: Path) -> None:
    """Everything that was made from the runs, thrown away and made again: the same bytes, but for the date."""
    before = {p.name: p.read_bytes() for p in answer_folder(smoke_copy).iterdir()}
    shutil.rmtree(smoke_copy / "experiments")
    claims, page = conclude(plan, Store(smoke_copy))
    after = {p.name: p.read_bytes() for p in answer_folder(smoke_copy).iterdir()}
    assert set(after) == set(before)
    assert page.name == "report.html"
    assert {"figure.png", "figure.svg", "samples-continuous.png"} <= set(after)
    assert [n for n in after if after[n] != before[n] and n not in ("report.html", "provenance.json")] == []
    assert json.loads(after["claims.json"]) == claims
    assert [c["claim"] for c in claims] == [c.id for c in EXPERIMENT.claims]
    old, new = (json.loads(files["provenance.json"]) for files in (before, after))
    assert old | {"judged": new["judged"]} == new


def test_the_table_is_the_measurements(plan: Plan, smoke_store: Path) -> None:
    table = read_table(answer_folder(smoke_store) / "table.parquet")
    rows = Store(smoke_store).run(plan.runs[0].address).rows()
    assert table.height == len(rows)
    assert table["value"].to_list() == [row["value"] for row in rows]
    assert set(table["seed"].to_list()) == {0}


@pytest.mark.usefixtures("quick_figures")
def test_figures_are_drawn_from_the_stored_table(plan: Plan, smoke_copy: Path) -> None:
    folder, drawn = answer_folder(smoke_copy), []

    def draw(table: pl.DataFrame, config: RunConfig) -> dict[str, Drawing]:
        drawn.append((table, config))
        return {"mine": Drawing(Figure(), "a caption")}

    table = read_table(folder / "table.parquet").with_columns(value=0.25)
    write_table(folder / "table.parquet", table)
    mine = replace(plan, experiment=replace(plan.experiment, draw=draw))
    figures = draw_figures(mine, Store(smoke_copy), folder)
    assert [(f.name, f.path) for f in figures] == [
        ("mine", folder / "mine.png"), ("samples-continuous", folder / "samples-continuous.png"),
    ]  # fmt: skip
    assert drawn[0][0].equals(table)
    assert drawn[0][1] == plan.runs[0].config


@pytest.mark.usefixtures("quick_figures")
def test_an_experiment_can_draw_its_own_sheets_or_none(plan: Plan, smoke_copy: Path) -> None:
    def sheets(kept: Mapping[str, Samples]) -> dict[str, Drawing]:
        (samples,) = kept.values()
        assert (list(kept), samples.seed, samples.run) == (["continuous"], 0, plan.runs[0].config)
        assert (samples.last == samples.images[1024]).all()
        return {"mine": Drawing(Figure(), "a caption")}

    folder, names = answer_folder(smoke_copy), []
    for choice in (sheets, no_sheets):
        mine = replace(plan, experiment=replace(plan.experiment, sheets=choice))
        names.append([figure.name for figure in draw_figures(mine, Store(smoke_copy), folder)])
    with_own, without = names
    assert with_own == [*without, "mine"]
    assert "figure" in without


@pytest.mark.usefixtures("quick_figures")
def test_what_is_done_of_a_plan_is_judged_and_what_is_missing_is_counted(smoke_copy: Path) -> None:
    conclude(make_plan(EXPERIMENT, "smoke", 3), Store(smoke_copy))
    kept = json.loads((answer_folder(smoke_copy) / "plan.json").read_text())
    assert kept["missing"] == 2
    assert [run["seed"] for run in kept["runs"]] == [0]
    with pytest.raises(UserError, match="nothing of concept-graphs/emergence at smoke is done"):
        conclude(make_plan(EXPERIMENT, "smoke", 1, {"training.rate": 0.5}), Store(smoke_copy))
    with pytest.raises(UserError, match="run it first"):
        conclude(make_plan(EXPERIMENT, "smoke"), Store(smoke_copy / "elsewhere"))


def test_overridden_settings_have_an_answer_of_their_own() -> None:
    def named(overrides: dict[str, Any] | None) -> str:
        return variant(make_plan(EXPERIMENT, "smoke", overrides=overrides))

    assert named(None) == named({}) == "smoke"
    one, other = named({"training.rate": 0.1}), named({"training.rate": 0.2})
    assert len({one, other, "smoke"}) == 3
    assert one.startswith("smoke-")
    both = {"training.rate": 0.1, "training.batch": 16}
    assert named(both) == named(dict(reversed(both.items())))


def test_the_command_makes_the_same_plan_again() -> None:
    from recombine.cli import _parser
    from recombine.commands.common import plans_of

    overrides = {"split.train": ["000", "111"], "evaluation.audit": None, "training.rate": 0.5, "prediction": "x0"}
    plan = make_plan(EXPERIMENT, "smoke", 2, overrides)
    words = shlex.split(command_of(plan))
    assert words[0] == "recombine"
    (again,) = plans_of(_parser().parse_args(words[1:]))
    assert [run.address for run in again.runs] == [run.address for run in plan.runs]
    assert variant(again) == variant(plan)


def test_samples_come_back_in_time_with_channels_last(plan: Plan, smoke_store: Path) -> None:
    samples = read_samples(Store(smoke_store).run(plan.runs[0].address))
    assert list(samples) == [128, 512, 1024]
    assert all(images.shape == (8, 4, 8, 8, 3) and images.dtype == np.uint8 for images in samples.values())


def test_provenance_adds_up_and_counts_a_run_that_two_arms_share_once(plan: Plan, smoke_copy: Path) -> None:
    store, address, other = Store(smoke_copy), plan.runs[0].address, "0" * 12
    shutil.copytree(store.run(address).path, store.run(other).path)
    outcome = store.run(address).outcome()
    members = [Member("continuous", 0, address), Member("shared", 0, address), Member("other", 0, other)]
    kept = gather_provenance(plan, store, members)
    assert kept["runs"] == 2
    assert kept["images_seen"] == 2 * 1024
    assert kept["device_seconds"] == pytest.approx(2 * outcome["seconds"], abs=0.06)
    assert len(kept["machines"]) == 1
    assert kept["trained"] == [outcome["finished"][:10]]
    assert shlex.split(kept["command"])[:3] == ["recombine", "run", "concept-graphs/emergence"]


def test_what_was_computed_beside_training_is_counted_apart(plan: Plan, smoke_copy: Path) -> None:
    store, address, null = Store(smoke_copy), plan.runs[0].address, "0" * 12
    shutil.copytree(store.run(address).path, store.run(null).path)
    trained = store.run(address).outcome()
    done = store.run(null).path / "done.json"
    done.write_text(json.dumps(trained | {"images_seen": 0, "seconds": 40.0, "fleet": 1}))
    kept = gather_provenance(plan, store, [Member("continuous", 0, address), Member("null", 0, null)])
    assert kept["device_seconds"] == pytest.approx(trained["seconds"], abs=0.06)
    assert kept["computing_seconds"] == 40
    alone = gather_provenance(plan, store, [Member("null", 0, null)])
    assert (alone["device_seconds"], alone["computing_seconds"]) == (40, 0)


@pytest.mark.parametrize("file", ["provenance.json", "done.json", "measurements.jsonl"])
def test_a_damaged_run_is_one_line_that_names_the_file(plan: Plan, smoke_copy: Path, file: str) -> None:
    (Store(smoke_copy).run(plan.runs[0].address).path / file).write_text("{ \n { \n {")
    with pytest.raises(RunFailed, match=file) as failure:
        conclude(plan, Store(smoke_copy))
    assert "\n" not in str(failure.value)


def test_collecting_an_arm_twice_gives_equal_halves(plan: Plan, smoke_store: Path) -> None:
    config = plan.runs[0].config
    table = collect(Store(smoke_store), [PlannedRun("a", 0, config), PlannedRun("b", 1, config)], EXPERIMENT.columns)
    one, other = (table.filter(table["arm"] == arm).drop("arm", "seed") for arm in "ab")
    assert one.equals(other)


def test_the_machine_is_described_in_words_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    execution = Execution.plain("cpu", threads=3)
    kept = json.loads(json.dumps(describe_machine(execution)))
    assert kept["torch"] == torch.__version__
    assert kept["numpy"] == np.__version__
    assert kept["execution"] == execution.asdict()
    assert device_name("cpu").endswith("thread(s)")
    assert len(now()) == len("2024-01-01T00:00:00Z")

    def missing(*_: Any, **__: Any) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    assert os.uname().machine in device_name("cpu")  # no /proc/cpuinfo: still a name


def test_every_arm_is_drawn(plan: Plan, smoke_store: Path) -> None:
    config = plan.runs[0].config
    runs = [PlannedRun("continuous", 0, config), PlannedRun("binary", 0, config)]
    table = collect(Store(smoke_store), runs, EXPERIMENT.columns)
    assert EXPERIMENT.draw is not None
    names = set(EXPERIMENT.draw(table, config))
    assert {"figure", "figure-binary"} <= names


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("One\nline.\n\nAnother.", ["One line.", "Another."]),
        ("- a **bold** [link](x/README.md)\n- `code`", ["a bold link", "code"]),
    ],
)
def test_markdown_becomes_plain_paragraphs(text: str, parts: list[str]) -> None:
    assert paragraphs(text) == parts


def test_a_small_run_says_so_and_has_no_findings_of_another_budget(plan: Plan, smoke_store: Path) -> None:
    page = (answer_folder(smoke_store) / "report.html").read_text()
    assert "A small run (smoke)" in page
    assert "What came out" not in page
