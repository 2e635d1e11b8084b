import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from recombine.errors import RunFailed
from recombine.lab.numbers import interval_text, number_text
from recombine.lab.report.page import (
    Report,
    ReportFigure,
    calibration_grid,
    cost_facts,
    render_report,
    summarize_runs,
    write_report,
)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
EVIL = "<script>alert('x')</script> & \"quotes\""


def claim(**changes: Any) -> dict[str, Any]:
    base = {"claim": "O1", "says": "d0 before d1", "paper": "yes", "estimate": 1.0, "interval": [0.478, None], "n": 5}
    return {**base, "verdict": "holds", "note": "", **changes}


def example(tmp_path: Path, **changes: Any) -> Report:
    (tmp_path / "figure.png").write_bytes(PNG)
    run = {"arm": "main", "images_seen": 1_000_000, "parameters": 812_345, "seconds": 100.0, "sampling_seconds": 20.0}
    fields: dict[str, Any] = {
        "title": "concept-graphs/emergence",
        "question": "In what order do unseen classes emerge?",
        "paper_figure": "Fig 5",
        "command": "recombine run concept-graphs/emergence --budget laptop --set 'a=\"b\"'",
        "claims": [claim(), claim(claim="O2", verdict="fails"), claim(claim="O3", verdict="undecided", estimate=None)],
        "figures": [
            ReportFigure("emergence", tmp_path / "figure.png", "Accuracy over training"),
            ReportFigure("samples-main", tmp_path / "figure.png", "Samples of seed 0"),
        ],
        "runs": [{**run, "seed": seed, "address": f"{seed}" * 12} for seed in range(5)],
        "calibration": [
            {"node": "000", "instrument": "calibration.reader.product", "value": 1.0},
            {"node": "111", "instrument": "calibration.reader.product", "value": 0.5},
            {"canvas": "blank", "instrument": "calibration.probe.product", "value": 0.92},
        ],
        "config": {"world": {"pixels": 28}},
        "provenance": {"judged": "2026-01-01", "machines": [{"device": "a CPU"}]},
        "assumptions": ["digits are shape, colour, size"],
    }
    return Report(**{**fields, **changes})


class Page(HTMLParser):
    """Checks that tags are balanced and gathers links, pictures and text."""

    void = frozenset({"meta", "img", "br", "link", "input", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []
        self.tags: set[str] = set()
        self.words = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_says_everything_and_stands_alone(tmp_path: Path) -> None:
    path = write_report(tmp_path / "deep" / "report.html", example(tmp_path))
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    for words in (
        "In what order do unseen classes emerge?",
        "Fig 5",
        "d0 before d1",
        "0.478 to ∞",
        "Accuracy over training",
        "Samples of seed 0",
        "812,345",
        "1,000,000",
        '"pixels": 28',
        "a CPU",
        "digits are shape, colour, size",
        "1 holds, 1 fails, 1 undecided",
        "training images a second",
        example(tmp_path).command,
    ):
        assert words in page.words, words
    assert len(page.sources) == 2
    for source in page.sources:
        assert base64.b64decode(source.removeprefix("data:image/png;base64,")) == PNG
    assert not re.search(r"https?://", html)
    assert "prefers-color-scheme: dark" in html
    assert str(tmp_path) not in html
    for verdict in ("holds", "fails", "undecided"):
        assert f'class="badge {verdict}"' in html


def test_every_text_is_escaped(tmp_path: Path) -> None:
    report = example(
        tmp_path,
        title=EVIL,
        question=EVIL,
        paper_figure=EVIL,
        command=EVIL,
        claims=[claim(claim=EVIL, says=EVIL, paper=EVIL, note=EVIL)],
        figures=[
            ReportFigure("a", tmp_path / "figure.png", EVIL),
            ReportFigure("samples", tmp_path / "figure.png", EVIL),
        ],
        runs=[{"arm": EVIL, "seed": EVIL, "address": EVIL}],
        calibration=[{"node": EVIL, "instrument": EVIL, "value": 1.0}],
        config={EVIL: EVIL},
        provenance={EVIL: EVIL, "more": [EVIL]},
        assumptions=[EVIL],
        findings=[EVIL],
        small=EVIL,
    )
    html = render_report(report)
    assert "<script" not in html
    page = Page(html)
    assert "script" not in page.tags
    assert page.words.count("alert('x')") >= 14


def test_the_same_report_is_the_same_page(tmp_path: Path) -> None:
    assert render_report(example(tmp_path)) == render_report(example(tmp_path))


def test_an_empty_report_still_reads(tmp_path: Path) -> None:
    page = Page(render_report(example(tmp_path, claims=[], figures=[], runs=[], calibration=[], assumptions=[])))
    for words in ("makes no claims", "No figure yet", "Not measured"):
        assert words in page.words


def test_a_missing_figure_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="cannot read the figure"):
        render_report(example(tmp_path, figures=[ReportFigure("gone", tmp_path / "gone.png", "")]))
    with pytest.raises(ValueError, match="a report shows"):
        render_report(example(tmp_path, figures=[ReportFigure("page", tmp_path / "page.pdf", "")]))


def test_calibration_grid_has_the_mean_and_the_lowest_answer(tmp_path: Path) -> None:
    instruments, inputs, cells = calibration_grid([*example(tmp_path).calibration, {"instrument": "i", "value": None}])
    assert instruments == ["reader.product", "probe.product"]
    assert inputs == ["real images", "real images, lowest", "blank"]
    assert cells["reader.product", "real images"] == 0.75
    assert cells["reader.product", "real images, lowest"] == 0.5
    assert cells["probe.product", "blank"] == 0.92
    assert ("probe.product", "real images") not in cells


def test_cost_shares_the_time_of_a_fleet_and_survives_missing_numbers() -> None:
    runs = [{"images_seen": 1000, "seconds": 40.0, "sampling_seconds": 20.0, "fleet": 4}] * 4
    facts = dict(cost_facts(runs))
    assert facts["seconds"] == "40"
    assert facts["training images a second"] == "200"
    assert dict(cost_facts([{}]))["seconds"] == "0"
    assert cost_facts([]) == []


def test_runs_are_summed_by_arm() -> None:
    first, second = summarize_runs(
        [
            {"arm": "a", "seed": 0, "address": "x", "images_seen": 10, "parameters": 5},
            {"arm": "b", "seed": 0, "address": "y"},
            {"arm": "a", "seed": 1, "address": "z", "images_seen": 20, "parameters": 5},
        ]
    )
    assert (first["arm"], first["seeds"], first["images"], first["parameters"]) == ("a", 2, "10 to 20", "5")
    assert (second["arm"], second["seeds"], second["images"], second["parameters"]) == ("b", 1, "–", "–")


def test_numbers() -> None:
    texts = [number_text(x) for x in (None, 0.12345, 1, 999.9, 1234567.0, -0.5, float("inf"), float("nan"))]
    assert texts == ["–", "0.123", "1", "1,000", "1,234,567", "−0.5", "∞", "–"]
    assert interval_text(None) == "–"
    assert interval_text([None, 2.5]) == "−∞ to 2.5"
