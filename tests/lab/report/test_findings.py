"""Findings: numbers come from claims, table and settings; a number typed by hand is found."""

from pathlib import Path
from typing import Any

import pytest

from recombine.errors import RunFailed, UserError
from recombine.lab.report.findings import findings_files, render_findings, typed_numbers
from recombine.lab.table import make_table
from recombine.studies import FOLDER
from support.tables import rows_of

CLAIMS = [
    {"claim": "O3", "estimate": 2.25, "interval": [1.5, None], "n": 5, "verdict": "holds", "paper": "about 2",
     "note": "so it is"},
    {"claim": "PC5-0.1", "estimate": None, "interval": None, "n": 0, "verdict": "undecided", "paper": "", "note": ""},
]  # fmt: skip
TABLE = make_table(
    rows_of(lambda row: 0.2 + 0.1 * row["seed"], arm="main", seed=range(3), images_seen=[100, 400], node=["0", "1"],
            instrument="reader.product"),
    {"node": str},
)  # fmt: skip
SOURCE = {
    "runs": 3, "images_seen": 1200, "members": [{"seed": s} for s in range(3)],
    "configs": {"main": {"world": {"pixels": 28}}},
}  # fmt: skip


def rendered(text: str, numbers: dict[str, Any] | None = None) -> str:
    return render_findings(text, CLAIMS, TABLE, SOURCE, numbers)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ O3 }}", "2.25 (1.5 to ∞)"),
        ("{{ O3.estimate }} {{ O3.low }} {{ O3.n }} {{ O3.verdict }} {{ O3.paper }}", "2.25 1.5 5 holds about 2"),
        ('{{ claim("PC5-0.1").verdict }}', "undecided"),
        ('{{ mean("reader.product", arm="main") | percent }}', "30%"),
        ('{{ spread("reader.product", node="1") }}', "0.3 (0.0516 to 0.548)"),
        ('{{ each("reader.product", node="1") }}', "0.2, 0.3, 0.4"),
        ('{{ at("reader.product", images_seen=100, seed=0) | digits(1) }}', "0.2"),
        ('{{ config("main").world.pixels }} px, {{ images_seen | count }} images', "28 px, 1,200 images"),
        ("{{ runs }} runs of {{ seeds }} seeds", "3 runs of 3 seeds"),
        ("{{ own_share | percent }}", "75%"),
    ],
)
def test_numbers_are_filled_in(text: str, expected: str) -> None:
    assert rendered(text, {"own_share": 0.75}) == expected


@pytest.mark.parametrize(
    "text",
    ["{{ O9 }}", '{{ claim("O9") }}', '{{ mean("nothing") }}', '{{ at("reader.product", images_seen=7) }}',
     '{{ config("other") }}', "{{ unclosed"],
)  # fmt: skip
def test_a_number_that_is_not_there_is_one_line(text: str) -> None:
    with pytest.raises((UserError, RunFailed)) as caught:
        rendered(text)
    assert "findings.md" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["{{ O3.estimate }} of 2 classes", "about 0.97 of them", "28 px", "three of 5 seeds", "a ratio of 8."],
)
def test_a_number_typed_by_hand_is_found(text: str) -> None:
    assert len(typed_numbers(text)) >= 1


@pytest.mark.parametrize(
    "text",
    ["As Fig 5b and Figs 13 to 15 show", "Exps 1, 2 and 3", "class `111` at 28 px".replace("28 px", "`28 px`"),
     "in 2023", "claim O3, classes d0 and d2, network 2L", "[the page](results/x-1/README.md)", "Eq. 4, Sec 3.2",
     "Lemma 1", "{{ mean('i', images_seen=100) }}", "https://example.org/1234", "Table A.3", "App. B.2"],
)  # fmt: skip
def test_names_of_figures_years_code_and_links_may_hold_digits(text: str) -> None:
    assert typed_numbers(text) == []


@pytest.mark.parametrize("path", findings_files(FOLDER), ids=lambda path: path.parent.name)
def test_no_finding_holds_a_number_typed_by_hand(path: Path) -> None:
    assert typed_numbers(path.read_text(encoding="utf-8")) == []
