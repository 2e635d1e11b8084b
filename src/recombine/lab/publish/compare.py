"""Verdicts of a store beside those of the committed evidence: what a study gives when somebody runs it again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from recombine.lab.numbers import interval_text, number_text

Claim = dict[str, Any]  # as in claims.json


@dataclass(frozen=True)
class Pair:
    """One claim, judged twice."""

    committed: Claim
    replicated: Claim

    @property
    def judged(self) -> bool:
        """Whether both had the runs it takes."""
        return all(claim["estimate"] is not None for claim in (self.committed, self.replicated))

    @property
    def same(self) -> bool:
        """Whether both verdicts are the same."""
        return bool(self.committed["verdict"] == self.replicated["verdict"])

    @property
    def experiment(self) -> str:
        """The address of the experiment."""
        return f"{self.replicated['study']}/{self.replicated['experiment']}"


def pair_claims(replicated: Iterable[Claim], committed: Iterable[Claim]) -> list[Pair]:
    """The claims that both have, at the same budget, in the order of the replication."""
    known = {_key(claim): claim for claim in committed}
    return [Pair(known[_key(claim)], claim) for claim in replicated if _key(claim) in known]


def summaries(pairs: Iterable[Pair]) -> list[str]:
    """A line for each experiment: how many verdicts are the same."""
    by_experiment: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_experiment.setdefault(pair.experiment, []).append(pair)
    return [f"{experiment}: {summary(members)}" for experiment, members in by_experiment.items()]


def summary(pairs: Sequence[Pair]) -> str:
    """How many verdicts of one experiment are the same."""
    judged = [pair for pair in pairs if pair.judged]
    rest = f"; runs are missing for {len(pairs) - len(judged)}" if len(judged) < len(pairs) else ""
    return f"{sum(pair.same for pair in judged)} of {len(judged)} verdicts are the same{rest}"


def verdict_text(claim: Claim) -> str:
    """Its verdict, and the number and interval that it rests on."""
    return f"{claim['verdict']}, {number_text(claim['estimate'])} ({interval_text(claim['interval'])})"


def _key(claim: Claim) -> tuple[str, ...]:
    return tuple(claim[name] for name in ("study", "experiment", "budget", "claim"))
