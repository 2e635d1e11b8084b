"""What several commands share: plans, the store, the evidence, and how answers are printed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recombine.errors import UserError

VERDICT_COLORS = {"holds": "green", "fails": "red", "undecided": "yellow"}


def plan_of(options: argparse.Namespace, address: str | None = None, check: bool = True) -> Any:
    """The plan that the words of a command ask for."""
    from recombine.lab.experiment import find_experiment, make_plan
    from recombine.lab.user_experiment import is_file, load_user_experiment
    from recombine.settings import parse_override
    from recombine.studies import EXPERIMENTS
    from recombine.training.execution import resolve_device

    address = address or options.address
    if is_file(address):
        experiment = load_user_experiment(Path(address), EXPERIMENTS)
    else:
        experiment = find_experiment(EXPERIMENTS, address)
    device = resolve_device(options.device)
    budget = options.budget or ("full" if device.startswith("cuda") else "laptop")
    overrides = dict(parse_override(text) for text in options.set)
    return make_plan(experiment, budget, options.seeds, overrides, options.only, options.arm, check or bool(overrides))


def plans_of(options: argparse.Namespace) -> list[Any]:
    """A plan for each address; the name of a study stands for all of its experiments."""
    from recombine.studies import EXPERIMENTS

    addresses: list[str] = []
    for word in options.addresses:
        addresses += [each for each in EXPERIMENTS if each.startswith(f"{word}/")] or [word]
    return [plan_of(options, address) for address in dict.fromkeys(addresses)]


def store_of(options: argparse.Namespace) -> Any:
    """The store that the command names."""
    from recombine.lab.store import Store

    return Store(options.store)


def results_folder() -> Path:
    """The committed evidence: `results/` of the source tree this is run from."""
    for root in (Path.cwd(), Path(__file__).resolve().parents[3]):
        if (root / "pyproject.toml").exists() or (root / "results").is_dir():
            return root / "results"
    raise UserError("no results/ folder here: give this command in a checkout of recombine")


def claims_of_store(options: argparse.Namespace, variants: str) -> list[dict[str, Any]]:
    """What was judged in this store: at some budget, with or without changed settings."""
    from recombine.lab.claims import read_claims

    paths = sorted(Path(options.store).glob(f"experiments/*/*/{variants}/claims.json"))
    return [claim for path in paths for claim in read_claims(path)]


def of_study(claims: list[dict[str, Any]], name: str | None) -> list[dict[str, Any]]:
    """Those of a study or an experiment, if one is named."""
    from recombine.lab.experiment import find_experiment
    from recombine.studies import EXPERIMENTS

    if name is None:
        return claims
    known = {address.partition("/")[0] for address in EXPERIMENTS} | {claim["study"] for claim in claims}
    if name not in known | {f"{claim['study']}/{claim['experiment']}" for claim in claims}:
        find_experiment(EXPERIMENTS, name)
    return [claim for claim in claims if name in (claim["study"], f"{claim['study']}/{claim['experiment']}")]


def conclude_all(plans: Sequence[Any], store: Any, options: argparse.Namespace) -> None:
    """Judge, draw and report each plan; programs get one list of all claims."""
    try:
        from recombine.lab.report.conclude import conclude
    except ModuleNotFoundError as missing:
        raise UserError(f"runs are done; judging and drawing need '{missing.name}', which is not installed here: "
                        "copy the store to a machine that has it and give `recombine report`") from None  # fmt: skip
    judged: list[dict[str, Any]] = []
    for plan in plans:
        claims, path = conclude(plan, store)
        judged += claims
        if not options.json:
            print_claims(claims)
            print(f"report: {path.resolve()}")
    if options.json:
        print_json(judged)


def print_claims(claims: list[dict[str, Any]]) -> None:
    """Verdicts as a table for a terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from recombine.lab.numbers import interval_text, number_text

    if not claims:
        print("no claims judged yet: run an experiment first")
    lines = Table.grid(padding=(0, 2, 0, 0))
    for c in claims:
        ours = f"ours {number_text(c['estimate'])} ({interval_text(c['interval'])}), n = {c['n']}; paper: {c['paper']}"
        source = f"{c['study']}/{c['experiment']}, {c['budget']}. {c['note']}"
        verdict = f"[{VERDICT_COLORS[c['verdict']]}]{c['verdict']}[/]"
        lines.add_row(
            f"[bold]{c['claim']}[/]", verdict, f"{escape(c['says'])}\n{escape(ours)}\n[dim]{escape(source)}[/]"
        )
    Console(highlight=False).print(lines)


def print_json(value: Any) -> None:
    """An answer for programs."""
    print(json.dumps(value, indent=2))
