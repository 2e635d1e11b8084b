"""A new experiment is a folder: it is listed, planned, run, judged and given a page, and nothing else changes."""

import json
import os
from pathlib import Path

import pytest

import recombine
from conftest import Call
from recombine.errors import UserError
from recombine.lab.new_experiment import write_experiment
from recombine.lab.report.findings import findings_of
from recombine.lab.table import read_table
from recombine.studies import EXPERIMENTS, OWN

ADDRESS = "my-study/what-if"
MOST_LINES = 60


@pytest.fixture
def own_studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "studies"
    root.mkdir()
    monkeypatch.setenv(OWN, str(root))
    monkeypatch.chdir(tmp_path)
    return root


def files_of(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_folder_is_an_experiment(call: Call, own_studies: Path, tmp_path: Path) -> None:
    package = Path(recombine.__file__).parent
    before = files_of(package)
    assert call("new", ADDRESS).status == 0
    folder = own_studies / "my_study" / "what_if"
    assert {path.name for path in folder.glob("*.*")} == {
        "__init__.py", "experiment.py", "claims.py", "figures.py", "findings.md",
    }  # fmt: skip
    assert sum(len(path.read_text().splitlines()) for path in folder.glob("*.py")) <= MOST_LINES
    assert ADDRESS in {row["address"] for row in json.loads(call("list", "--json").out)}
    (planned,) = json.loads(call("plan", ADDRESS, "--budget", "smoke", "--json").out)
    answer = call("run", ADDRESS, "--budget", "smoke", "--device", "cpu", "--store", tmp_path / "store")
    assert answer.status == 0, answer.err
    assert "WHATIF1" in answer.out
    (tmp_path / "results").mkdir()
    answer = call("report", ADDRESS, "--budget", "smoke", "--publish", "--store", tmp_path / "store")
    assert answer.status == 0, answer.err
    page = (tmp_path / "results" / ADDRESS / "README.md").read_text()
    assert "A small run (smoke)" in page
    assert "| WHATIF1 |" in page
    assert (tmp_path / "results" / ADDRESS / "figure.png").is_file()
    assert (tmp_path / "store" / "runs" / planned["address"] / "done.json").is_file()
    assert files_of(package) == before
    published = [json.loads((tmp_path / "results" / ADDRESS / f"{name}.json").read_text())
                 for name in ("claims", "provenance")]  # fmt: skip
    table = read_table(tmp_path / "results" / ADDRESS / "table.parquet")
    findings = findings_of(EXPERIMENTS[ADDRESS], published[0], table, published[1])
    assert findings.startswith("We asked which unseen combinations a model learns to draw.")
    assert "{{" not in findings


@pytest.mark.parametrize("address", ["", "mine", "My/question", "my/quest_ion", "a/b/c", "../x/y"])
def test_an_address_that_is_none_is_refused(own_studies: Path, address: str) -> None:
    with pytest.raises(UserError, match="no address of an experiment"):
        write_experiment(address, own_studies, EXPERIMENTS)
    assert list(own_studies.iterdir()) == []


def test_an_experiment_is_never_written_over(own_studies: Path) -> None:
    write_experiment(ADDRESS, own_studies, EXPERIMENTS)
    for address in (ADDRESS, "concept-graphs/emergence"):
        with pytest.raises(UserError, match="there is an experiment"):
            write_experiment(address, own_studies, EXPERIMENTS)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(own_studies: Path) -> None:
    own_studies.chmod(0o500)
    with pytest.raises(UserError, match=OWN):
        write_experiment(ADDRESS, own_studies, EXPERIMENTS)
