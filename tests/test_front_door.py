"""The public names: the examples of their docstrings run as they stand."""

import doctest
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import recombine as rc
from recombine import front_door
from recombine.errors import UserError
from support.front_door import examples_of

NAMES = ("experiments", "load", "measure", "run", "sample", "train")


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_docstring_runs(name: str, example_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example_folder)
    tests = examples_of(getattr(front_door, name))
    assert tests, f"{name} has no example"
    for test in tests:
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        assert runner.run(test).failed == 0


@pytest.fixture(scope="module")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples: what one has trained, the next finds done."""
    return tmp_path_factory.mktemp("examples")


def test_every_public_name_is_there_and_has_a_docstring() -> None:
    for name in rc.__all__:
        assert getattr(rc, name).__doc__, name
        assert name in dir(rc)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = rc.nonsense


def test_worlds_are_at_hand() -> None:
    assert rc.worlds.ShapesWorld(pixels=16).pixels == 16
    assert {"BumpsWorld", "MixtureWorld", "SceneWorld", "FacesWorld", "Split", "design"} <= set(dir(rc.worlds))


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, recombine; print(sorted({'torch', 'polars', 'numpy'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_a_result_says_what_it_found(smoke_store: Path) -> None:
    result = rc.run("concept-graphs/emergence", "smoke", store=smoke_store, device="cpu")
    assert str(result).startswith("concept-graphs/emergence at smoke: ")
    assert result.verdicts.schema["estimate"] == pl.Float64
    assert set(result.verdicts["verdict"]) == {"undecided"}
    assert result.report.is_file()
    model = rc.load(result.runs[0], smoke_store)
    assert model.measure().columns
    with pytest.raises(UserError, match="at least one image"):
        model.sample(n=0)


def test_a_frame_of_pandas_for_those_who_have_it(smoke_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Frame(dict[str, list[object]]):
        """Stands for pandas, which is no dependency."""

    result = rc.run("concept-graphs/emergence", "smoke", store=smoke_store, device="cpu")
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=Frame))
    assert list(result.to_pandas()) == result.table.columns
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match="pip install pandas"):
        result.to_pandas()
