"""What each command of the command line does. Wrong use raises a UserError, one line that says what to do."""

import argparse
import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from recombine.errors import RunFailed, UserError


def list_experiments(options: argparse.Namespace) -> None:
    """Every experiment with its question."""
    from recombine.studies import EXPERIMENTS

    rows: list[dict[str, Any]] = [
        {"address": e.address, "question": e.question, "figure": e.figure,
         "budgets": {name: budget.says for name, budget in e.budgets.items()},
         "claims": [{"claim": c.id, "says": c.says, "paper": c.paper} for c in e.claims]}
        for e in EXPERIMENTS.values()
    ]  # fmt: skip
    if options.json:
        _print_json(rows)
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
    plans, store = plans_of(options), _store(options)
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
            _conclude(whole, store, options)
    for line in failures:
        print(f"recombine: {line}", file=sys.stderr)
    return RunFailed.exit_status if failures else 0


def show_plan(options: argparse.Namespace) -> None:
    """One command a run, for Slurm arrays and the like."""
    plan = _plan(options, check=False)
    sets = [word for text in options.set for word in ("--set", text)]
    rows = [
        {"arm": r.arm, "seed": r.seed, "address": r.address, "images": r.config.total,
         "command": shlex.join(["recombine", "run", plan.experiment.typed, "--budget", plan.budget, "--seeds",
                                str(r.seed + 1), *sets, "--store", options.store, "--only", f"{r.arm}:{r.seed}"])}
        for r in plan.runs
    ]  # fmt: skip
    if options.json:
        _print_json(rows)
        return
    for row in rows:
        print(row["command"])


def show_status(options: argparse.Namespace) -> None:
    """How far every run in the store is; with an experiment, those of its plan, by arm."""
    from recombine.lab.store import Busy

    rows: list[dict[str, Any]] = []
    store = _store(options)
    arms = {r.address: r.arm for r in _plan(options, check=False).runs} if options.address else None
    for folder in store.runs() if arms is None else [store.run(address) for address in arms]:
        if not folder.exists:
            continue
        config = folder.config()
        seen = max((row["images_seen"] for row in folder.rows()), default=0)
        state = "done" if folder.done else "stopped"
        if not folder.done:
            try:
                with folder.lock(wait=False):
                    pass
            except Busy:
                state = "running"
        images = config["training"]["images"] if "training" in config else seen  # a computation has no training
        rows.append({"run": folder.address, "state": state, "measured_to": seen, "images": images,
                     "seed": config["seeds"]["init"], **({"arm": arms[folder.address]} if arms else {})})  # fmt: skip
    if options.json:
        _print_json(rows)
        return
    if not rows:
        print(f"no runs in {options.store} yet")
    for row in rows:
        print(
            f"{row['run']}  {row['state']:8} {row['measured_to']:>10,} of {row['images']:,} images, seed {row['seed']}"
            + (f", {row['arm']}" if "arm" in row else "")
        )


def show_claims(options: argparse.Namespace) -> None:
    """Verdicts of what this store holds, or with --results of the committed evidence."""
    from recombine.lab.claims import read_results

    claims = read_results(_results_folder()) if options.results else _claims_of_store(options, "*")
    claims = _of_study(claims, options.study)
    if options.json:
        _print_json(claims)
        return
    _print_claims(claims)


def compare(options: argparse.Namespace) -> None:
    """Verdicts of this store beside those of the committed evidence; with --publish, keep this second run there."""
    from recombine.lab.claims import read_results
    from recombine.lab.publish.compare import pair_claims, summaries, verdict_text

    again = _of_study(_claims_of_store(options, "full"), options.study)
    pairs = pair_claims(again, read_results(_results_folder()))
    if options.publish and pairs:
        _publish_again(dict.fromkeys(pair.experiment for pair in pairs), options)
    if options.json:
        _print_json([{"committed": pair.committed, "again": pair.again, "judged": pair.judged} for pair in pairs])
        return
    if not pairs:
        raise UserError(f"no claim in {options.store} was judged at full, as the committed evidence is: run one first")
    for pair in pairs:
        if pair.judged and not pair.same:
            print(f"{pair.experiment} {pair.again['claim']}: {pair.again['says']}")
            print(f"  {verdict_text(pair.committed)}; again {verdict_text(pair.again)}")
    print("\n".join(summaries(pairs)))


def _publish_again(addresses: Iterable[str], options: argparse.Namespace) -> None:
    from recombine.lab.experiment import find_experiment
    from recombine.lab.publish.evidence import write_page
    from recombine.lab.publish.replication import publish_again
    from recombine.studies import EXPERIMENTS

    results = _results_folder()
    publish_again((find_experiment(EXPERIMENTS, address) for address in addresses), _store(options), results)
    write_page(results)


def redraw(options: argparse.Namespace) -> None:
    """Draw the figures again from the stored table."""
    from recombine.lab.report.conclude import draw_figures, variant

    plan, store = _plan(options), _store(options)
    experiment = plan.experiment
    folder = store.experiment(experiment.study, experiment.name, variant(plan))
    for figure in draw_figures(plan, store, folder):
        print(figure.path)


def report(options: argparse.Namespace) -> None:
    """Judge and report again from what the store holds; with --publish, commit it; with --results, renew what is."""
    from recombine.lab.experiment import find_experiment
    from recombine.lab.publish.evidence import publish, renew
    from recombine.studies import EXPERIMENTS

    if options.results:
        if options.only or options.arm or options.set or options.seeds or options.budget or options.publish:
            raise UserError("report --results renews what is committed as it is: give no other option with it")
        _print_claims(renew(find_experiment(EXPERIMENTS, options.address), _results_folder()))
        return
    plan, store = _plan(options), _store(options)
    _conclude([plan], store, options)
    if options.publish:
        print(f"evidence: {publish(plan, store, _results_folder())}")


def adopt(options: argparse.Namespace) -> None:
    """Take the finished runs of the committed evidence into the store, to add seeds or arms without training them."""
    from recombine.lab.publish.imports import adopt as adopt_runs

    plan = _plan(options)
    taken, others = adopt_runs(plan, _results_folder(), _store(options))
    left = len(plan.runs) - taken
    if options.json:
        _print_json({"adopted": taken, "others": others, "missing": left})
        return
    if not taken:
        raise UserError(f"no published run of {plan.experiment.address} is one of this plan at {plan.budget}: evidence "
                        "is of full, try --budget full and no --set")  # fmt: skip
    other = f"; {others} published runs have other settings or seeds" if others else ""
    print(f"{taken} runs of {plan.experiment.address} are in {options.store}, {left} of this plan are not{other}")


def draw_samples(options: argparse.Namespace) -> None:
    """Draw images from a finished run."""
    from recombine.lab.sheet import draw_from_run

    print(draw_from_run(_store(options).find(options.run), options.condition, options.count, options.out))


def bench(options: argparse.Namespace) -> None:
    """Measure this machine: ratios to the plain way of doing the same."""
    run_bench = _benchmark("speed").run_bench
    answer = run_bench(options.device, options.seconds)
    if options.json:
        _print_json(answer)
        return
    for name, value in answer["ratios"].items():
        print(f"{name:36} {value:10.3g}")
    print(f"on {answer['machine']['device']}, torch {answer['machine']['torch']}")


def _conclude(plans: Sequence[Any], store: Any, options: argparse.Namespace) -> None:
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
            _print_claims(claims)
            print(f"report: {path.resolve()}")
    if options.json:
        _print_json(judged)


def _claims_of_store(options: argparse.Namespace, variants: str) -> list[dict[str, Any]]:
    """What was judged in this store: at some budget, with or without changed settings."""
    from recombine.lab.claims import read_claims

    paths = sorted(Path(options.store).glob(f"experiments/*/*/{variants}/claims.json"))
    return [claim for path in paths for claim in read_claims(path)]


def _print_claims(claims: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from recombine.lab.numbers import interval_text, number_text

    if not claims:
        print("no claims judged yet: run an experiment first")
    colors = {"holds": "green", "fails": "red", "undecided": "yellow"}
    lines = Table.grid(padding=(0, 2, 0, 0))
    for c in claims:
        ours = f"ours {number_text(c['estimate'])} ({interval_text(c['interval'])}), n = {c['n']}; paper: {c['paper']}"
        source = f"{c['study']}/{c['experiment']}, {c['budget']}. {c['note']}"
        verdict = f"[{colors[c['verdict']]}]{c['verdict']}[/]"
        lines.add_row(
            f"[bold]{c['claim']}[/]", verdict, f"{escape(c['says'])}\n{escape(ours)}\n[dim]{escape(source)}[/]"
        )
    Console(highlight=False).print(lines)


def _of_study(claims: list[dict[str, Any]], name: str | None) -> list[dict[str, Any]]:
    """Those of a study or an experiment, if one is named."""
    from recombine.lab.experiment import find_experiment
    from recombine.studies import EXPERIMENTS

    if name is None:
        return claims
    known = {address.partition("/")[0] for address in EXPERIMENTS} | {c["study"] for c in claims}
    if name not in known | {f"{c['study']}/{c['experiment']}" for c in claims}:
        find_experiment(EXPERIMENTS, name)
    return [c for c in claims if name in (c["study"], f"{c['study']}/{c['experiment']}")]


def _plan(options: argparse.Namespace, address: str | None = None, check: bool = True) -> Any:
    from recombine.lab.experiment import find_experiment, make_plan
    from recombine.lab.user_experiment import is_file, load_own
    from recombine.runs.concept_graph import parse_override
    from recombine.studies import EXPERIMENTS
    from recombine.training.execution import resolve_device

    address = address or options.address
    if is_file(address):
        experiment = load_own(Path(address), EXPERIMENTS)
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
    return [_plan(options, address) for address in dict.fromkeys(addresses)]


def _store(options: argparse.Namespace) -> Any:
    from recombine.lab.store import Store

    return Store(options.store)


def _results_folder() -> Path:
    """The committed evidence: `results/` of the source tree this is run from."""
    for root in (Path.cwd(), Path(__file__).resolve().parents[2]):
        if (root / "pyproject.toml").exists() or (root / "results").is_dir():
            return root / "results"
    raise UserError("no results/ folder here: give this command in a checkout of recombine")


def _benchmark(name: str) -> Any:
    """A module of `benchmarks/`, which comes with the source tree and is no part of the package."""
    import importlib

    root = Path(__file__).resolve().parents[2]
    if not (root / "benchmarks" / f"{name}.py").is_file():
        raise UserError("benchmarks come with the source tree: give this command in a checkout of recombine")
    if str(root) not in sys.path:
        sys.path.append(str(root))
    return importlib.import_module(f"benchmarks.{name}")


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))
