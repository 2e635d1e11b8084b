"""Commands that plan and run: list, run, plan, status."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from recombine.commands.common import conclude_all, plan_of, plans_of, print_json, store_of
from recombine.errors import RunFailed, UserError


def list_experiments(options: argparse.Namespace) -> None:
    """Every experiment with its question."""
    from recombine.studies import EXPERIMENTS

    rows: list[dict[str, Any]] = [
        {"address": e.address, "question": e.question, "figure": e.figure,
         "budgets": {name: budget.says for name, budget in e.budgets.items()},
         "claims": [{"claim": c.id, "says": c.says, "paper": c.paper, "check": c.check} for c in e.claims]}
        for e in EXPERIMENTS.values()
    ]  # fmt: skip
    if options.json:
        print_json(rows)
        return
    for row in rows:
        print(f"{row['address']}  ({row['figure']})\n  {row['question']}")
        print(f"  budgets: {'; '.join(f'{n}: {s}' for n, s in row['budgets'].items())}")
        print(f"  claims: {', '.join(c['claim'] for c in row['claims'])}")


def run(options: argparse.Namespace) -> int:
    """Train what is missing, then judge, draw and report."""
    from rich.console import Console

    from recombine.lab.execute.local import run_local
    from recombine.lab.execute.progress import ProgressBars

    if options.engine != "local":
        raise UserError(f"no engine '{options.engine}': only 'local' is built in; `recombine plan` serves schedulers")
    plans, store = plans_of(options), store_of(options)
    console = Console(stderr=True)
    for plan in plans:
        console.print(f"{plan.experiment.address} at {plan.budget}: {plan.experiment.question}", highlight=False)
    planned = [each for plan in plans for each in plan.runs]
    with ProgressBars(planned, console) as bars:
        configs = [each.config for each in planned]
        failures = run_local(configs, store, options.device, bars, plain=options.plain, workers=options.workers)
    if options.only is None and not options.no_report:
        whole = [plan for plan in plans if all(store.run(each.address).done for each in plan.runs)]
        if whole:
            conclude_all(whole, store, options)
    for line in failures:
        print(f"recombine: {line}", file=sys.stderr)
    return RunFailed.exit_status if failures else 0


def show_plan(options: argparse.Namespace) -> None:
    """One command a run, for Slurm arrays and the like."""
    plan = plan_of(options, check=False)
    sets = [word for text in options.set for word in ("--set", text)]
    rows = [
        {"arm": r.arm, "seed": r.seed, "address": r.address, "images": r.config.total,
         "command": shlex.join(["recombine", "run", plan.experiment.typed, "--budget", plan.budget, "--seeds",
                                str(r.seed + 1), *sets, "--store", options.store, "--only", f"{r.arm}:{r.seed}"])}
        for r in plan.runs
    ]  # fmt: skip
    if options.json:
        print_json(rows)
        return
    for row in rows:
        print(row["command"])


def show_status(options: argparse.Namespace) -> None:
    """How far every run in the store is; with an experiment, those of its plan, by arm."""
    store = store_of(options)
    arms = {r.address: r.arm for r in plan_of(options, check=False).runs} if options.address else None
    folders = store.runs() if arms is None else [store.run(address) for address in arms]
    rows = [_state(folder) | ({"arm": arms[folder.address]} if arms else {}) for folder in folders if folder.exists]
    if options.json:
        print_json(rows)
        return
    if not rows:
        print(f"no runs in {options.store} yet")
    for row in rows:
        what = "computation"
        if row["kind"] == "training":
            what = f"{row['measured_to']:>10,} of {row['images']:,} images"
        print(
            f"{row['run']}  {row['state']:8} {what}, seed {row['seed']}" + (f", {row['arm']}" if "arm" in row else "")
        )


def _state(folder: Any) -> dict[str, Any]:
    """What a run is, whether it is done, under way or stopped, and how far it came."""
    from recombine.lab.store import Busy

    config = folder.config()
    state = "done" if folder.done else "stopped"
    if not folder.done:
        try:
            with folder.lock(wait=False):
                pass
        except Busy:
            state = "running"
    row: dict[str, Any] = {"run": folder.address, "state": state, "seed": config["seeds"]["init"]}
    if "training" not in config:
        return row | {"kind": "computation"}
    seen = max((row.get("images_seen") or 0 for row in folder.rows()), default=0)
    return row | {"kind": "training", "measured_to": seen, "images": config["training"]["images"]}
