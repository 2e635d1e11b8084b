"""The house keeps its own rules: sizes, names, words, docstrings, and what a command may import."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from recombine.studies import EXPERIMENTS, FOLDER

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").glob("**/*.py"))
LONGEST, MOST_ENTRIES = 300, 12

# STYLE: words of a private dialect that have a plain word in the field.
DIALECT = re.compile(
    r"\bmemorisers?\b|\bnobody trained\b|\badopt(?:s|ed|ion)?\b|\bmultitudes?\b|\blikeness\b|\bsittings?\b"
    r"|\bpass(?:es|ed)? for\b|\bmended\b|\bhangs? on\b|\b(?:is|are|was|were) told\b|\btold (?:of|by)\b|\bhears?\b"
    r"|\bmeets? (?:a|the|its) labels?\b|\blabels? that stand apart\b"
)


def test_no_source_file_needs_a_table_of_contents() -> None:
    long = {str(path.relative_to(ROOT)): n for path in SOURCES if (n := len(path.read_text().splitlines())) > LONGEST}
    assert long == {}


def test_no_study_is_crowded() -> None:
    for study in FOLDER.iterdir():
        if study.is_dir() and study.name != "__pycache__":
            entries = [path.name for path in study.iterdir() if path.name != "__pycache__"]
            assert len(entries) <= MOST_ENTRIES, (study.name, sorted(entries))


def test_claim_ids_are_unique_over_all_studies() -> None:
    counted = Counter(claim.id for experiment in EXPERIMENTS.values() for claim in experiment.claims)
    assert [name for name, n in counted.items() if n > 1] == []


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Top-level functions and classes, and methods of these, whose names do not begin with an underscore."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                inherits = bool(node.bases)
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_") and not inherits:
                        yield inner


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src/recombine")))
def test_every_public_function_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [node.name for node in public_functions(tree) if ast.get_docstring(node) is None] == []


TEXTS = [
    *SOURCES,
    *sorted((ROOT / "src").glob("**/*.md")),
    *sorted((ROOT / "src").glob("**/*.yaml")),
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted((ROOT / "results").glob("**/README.md")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_are_in_the_words_of_the_field(path: Path) -> None:
    assert [match.group() for match in DIALECT.finditer(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "words",
    [["--help"], ["list"], ["plan", "concept-graphs/emergence"], ["plan", "bumps/torus", "--budget", "full"],
     ["plan", "local-scores/length", "--budget", "full"], ["plan", "identity-mapping/order", "--budget", "full"],
     ["status"], ["claims"], ["claims", "--results"], ["run", "--help"]],
    ids=" ".join,
)  # fmt: skip
def test_a_command_that_trains_nothing_imports_nothing_slow(words: list[str], tmp_path: Path) -> None:
    """What takes seconds to import: `benchmarks/commands.py` measures the time itself."""
    code = (
        "import sys; from recombine.cli import main\n"
        f"try: main({words!r} + {['--store', str(tmp_path)] if words[0] in ('plan', 'status') else []!r})\n"
        "except SystemExit: pass\n"
        "slow = [n for n in ('torch._C', 'scipy', 'polars', 'matplotlib.figure', 'jinja2') if n in sys.modules]\n"
        "print(slow, file=sys.stderr)"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stderr.strip().splitlines()[-1] == "[]"
