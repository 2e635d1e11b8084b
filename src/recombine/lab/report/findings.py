"""Findings: what came out, in plain English, every number filled in from the evidence when it is published.

`findings.md` beside an experiment is Markdown with `{{ ... }}`: `{{ O3 }}` is a claim's estimate and interval,
`{{ mean("reader.product", arm="continuous", node="111") }}` asks the table, `{{ config("full").world.pixels }}` the
settings. What takes more than that is computed by `numbers(table)` in `findings.py`, and used by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from recombine.errors import RunFailed, UserError
from recombine.lab.claims import NotMeasured
from recombine.lab.experiment import Experiment
from recombine.lab.numbers import interval_text, number_text
from recombine.lab.statistics import mean_interval
from recombine.lab.table import at_end, select

# What a text may hold in digits: names of figures and the like, years, code, links, and digits glued to letters.
_ALLOWED = re.compile(
    r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}"  # computed
    r"|```.*?```|`[^`]*`|\]\([^)]*\)|https?://\S+"
    r"|\b(?:Figs?|Exps?|Experiments?|Eqs?|Secs?|Sections?|Apps?|Tables?|Lemmas?|Thms?|Theorems?|Props?|Defs?|Cors?)"
    r"\.?\s*[A-Z]?\.?\d+[\w.]*(?:(?:\s*,\s*|\s+(?:and|to|or)\s+|\s*[–-]\s*)[A-Z]?\.?\d+[\w.]*)*"
    r"|\b(?:19|20)\d\d\b|\b[^\W\d]+-?\d+\w*|\b\d+[A-Za-z]\w*",
    re.DOTALL,
)


@dataclass(frozen=True)
class Judged:
    """A claim as a text uses it: written out it is its estimate and its interval."""

    facts: Mapping[str, Any]

    @property
    def estimate(self) -> float | None:
        """The number that the verdict is about."""
        return self.facts["estimate"]  # type: ignore[no-any-return]

    @property
    def interval(self) -> str:
        """From where to where, in words."""
        return interval_text(self.facts["interval"])

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.facts["interval"][0] if self.facts["interval"] else None

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.facts["interval"][1] if self.facts["interval"] else None

    @property
    def n(self) -> int:
        """Over how many seeds."""
        return int(self.facts["n"])

    @property
    def verdict(self) -> str:
        """Holds, fails or undecided."""
        return str(self.facts["verdict"])

    @property
    def paper(self) -> str:
        """The paper's number, in its words."""
        return str(self.facts["paper"])

    @property
    def note(self) -> str:
        """What the rule says beside its verdict."""
        return str(self.facts["note"])

    def __str__(self) -> str:
        return f"{number_text(self.estimate)} ({self.interval})"


def render_findings(
    text: str, claims: Iterable[Mapping[str, Any]], table: Any, source: Mapping[str, Any],
    numbers: Mapping[str, Any] | None = None, where: str = "findings.md",
) -> str:  # fmt: skip
    """The text with its numbers filled in from these judged claims, this table and this provenance."""
    environment = SandboxedEnvironment(undefined=StrictUndefined, finalize=_written, keep_trailing_newline=True)
    environment.filters.update(percent=percent, count=count, digits=digits, number=number_text)
    known = {claim["claim"]: Judged(claim) for claim in claims}

    def mean(instrument: str, **columns: Any) -> float:
        values = list(at_end(table, instrument, **columns).values())
        if not values:
            raise UserError(f"{where}: the table has no '{instrument}' with {columns}")
        return sum(values) / len(values)

    def spread(instrument: str, **columns: Any) -> str:
        values = list(at_end(table, instrument, **columns).values())
        return f"{number_text(mean(instrument, **columns))} ({interval_text(mean_interval(values))})"

    def each(instrument: str, **columns: Any) -> str:
        return ", ".join(number_text(value) for value in at_end(table, instrument, **columns).values())

    def at(instrument: str, **columns: Any) -> float:
        values = select(table, instrument, **columns)["value"].drop_nulls()
        if not len(values):
            raise UserError(f"{where}: the table has no '{instrument}' with {columns}")
        return float(values.to_numpy().mean())

    def config(arm: str) -> Mapping[str, Any]:
        if arm not in source["configs"]:
            raise UserError(f"{where}: no arm '{arm}'; there are {', '.join(source['configs'])}")
        found: Mapping[str, Any] = source["configs"][arm]
        return found

    names: dict[str, Any] = {
        **{name: judged for name, judged in known.items() if name.isidentifier()},
        "claim": _lookup(known, where), "mean": mean, "spread": spread, "each": each, "at": at, "config": config,
        "paper": str, "runs": source["runs"], "images_seen": source["images_seen"],
        "seeds": len({member["seed"] for member in source["members"]}), **(numbers or {}),
    }  # fmt: skip
    try:
        return environment.from_string(text).render(names)
    except (TemplateError, NotMeasured) as error:
        raise RunFailed(f"{where}: {error}") from error


def findings_of(
    experiment: Experiment, claims: Iterable[Mapping[str, Any]], table: Any, source: Mapping[str, Any]
) -> str:
    """The findings of an experiment, or nothing if none are written."""
    if experiment.findings is None:
        return ""
    text = experiment.findings.read_text(encoding="utf-8")
    return render_findings(text, claims, table, source, numbers_of(experiment, table), str(experiment.findings))


def numbers_of(experiment: Experiment, table: Any) -> Mapping[str, Any]:
    """What `findings.py` beside the experiment computes from the table."""
    return {} if experiment.numbers is None else experiment.numbers(table)


def typed_numbers(text: str) -> list[str]:
    """Numbers that a text holds typed by hand, each with the words around it; there should be none."""
    rest = _ALLOWED.sub(lambda match: re.sub(r"\S", "_", match.group()), text)
    return [text[max(0, m.start() - 25) : m.end() + 15].replace("\n", " ") for m in re.finditer(r"\d+", rest)]


def percent(value: float | None) -> str:
    """0.37 -> "37%"; nothing measured is a dash, here and below."""
    return "–" if value is None else f"{100 * float(value):.0f}%"


def count(value: float | None) -> str:
    """400000 -> "400,000"."""
    return "–" if value is None else f"{float(value):,.0f}"


def digits(value: float | None, places: int = 2) -> str:
    """3.14159 -> "3.14"."""
    return "–" if value is None else f"{float(value):.{places}f}"


def _written(value: Any) -> Any:
    return number_text(value) if value is None or isinstance(value, float) else value


def _lookup(known: Mapping[str, Judged], where: str) -> Callable[[str], Judged]:
    def claim(name: str) -> Judged:
        if name not in known:
            raise UserError(f"{where}: no claim '{name}'; there are {', '.join(known)}")
        return known[name]

    return claim


def findings_files(root: Path) -> list[Path]:
    """Every findings.md below a folder."""
    return sorted(root.glob("**/findings.md"))
