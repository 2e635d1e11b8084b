"""The command line. Each command is a function below; errors are one line that says what to do.

Exit status 0 done, 1 a run failed, 2 wrong use. `--json` wherever a program might read the answer.
"""

import argparse
import json
import os
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from recombine import __version__
from recombine.errors import RunFailed, UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)  # what schedulers send: save and stop, as on Ctrl-C
    try:
        options = _parser().parse_args([word for word in words if word != "--debug"])
        status: int = options.command(options) or 0
        sys.stdout.flush()  # here, so that a reader who left is noticed below
        return status
    except ModuleNotFoundError as error:
        if debug or (error.name or "").startswith("recombine"):
            raise
        print(f"recombine: this needs the package '{error.name}', which is not installed here", file=sys.stderr)
        return UserError.exit_status
    except UserError as error:
        if debug:
            traceback.print_exc()
        print(f"recombine: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("\nrecombine: stopped; everything so far is saved: give the same command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


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

    from recombine.lab.engines import run_local
    from recombine.lab.progress import ProgressBars

    if options.engine != "local":
        raise UserError(f"no engine '{options.engine}': only 'local' is built in; `recombine plan` serves schedulers")
    plans, store = _plans(options), _store(options)
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
    plan = _plan(options)
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
    arms = {r.address: r.arm for r in _plan(options).runs} if options.address else None
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
    from recombine.lab.results import read_claims, read_results

    if options.results:
        claims = read_results(_results_folder())
    else:
        paths = sorted(Path(options.store).glob("experiments/*/*/*/claims.json"))
        claims = [claim for path in paths for claim in read_claims(path)]
    if options.study:
        _check_study(options.study, claims)
        claims = [c for c in claims if options.study in (c["study"], f"{c['study']}/{c['experiment']}")]
    if options.json:
        _print_json(claims)
        return
    _print_claims(claims)


def redraw(options: argparse.Namespace) -> None:
    """Draw the figures again from the stored table."""
    from recombine.lab.conclude import draw_figures, variant

    plan, store = _plan(options), _store(options)
    experiment = plan.experiment
    folder = store.experiment(experiment.study, experiment.name, variant(plan))
    for figure in draw_figures(plan, store, folder):
        print(figure.path)


def report(options: argparse.Namespace) -> None:
    """Judge and report again from what the store holds; with --publish, commit it; with --results, renew what is."""
    from recombine.lab.experiment import find_experiment
    from recombine.lab.results import publish, renew
    from recombine.studies import EXPERIMENTS

    if options.results:
        if options.only or options.set or options.seeds or options.budget or options.publish:
            raise UserError("report --results renews what is committed as it is: give no other option with it")
        _print_claims(renew(find_experiment(EXPERIMENTS, options.address), _results_folder()))
        return
    plan, store = _plan(options), _store(options)
    _conclude([plan], store, options)
    if options.publish:
        print(f"evidence: {publish(plan, store, _results_folder())}")


def adopt(options: argparse.Namespace) -> None:
    """Take the finished runs of the committed evidence into the store, to add seeds or arms without training them."""
    from recombine.lab.adopt import adopt as adopt_runs

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
    from recombine.lab.drawing import draw_from_run

    print(draw_from_run(_store(options).find(options.run), options.condition, options.count, options.out))


def bench(options: argparse.Namespace) -> None:
    """Measure this machine: ratios to the plain way of doing the same."""
    from recombine.lab.bench import run_bench

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
        from recombine.lab.conclude import conclude
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


def _print_claims(claims: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from recombine.lab.report import interval_text, number_text

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


def _check_study(name: str, claims: list[dict[str, Any]]) -> None:
    from recombine.lab.experiment import find_experiment
    from recombine.studies import EXPERIMENTS

    known = {e.study for e in EXPERIMENTS.values()} | {c["study"] for c in claims}
    if name not in known | {f"{c['study']}/{c['experiment']}" for c in claims}:
        find_experiment(EXPERIMENTS, name)


def _plan(options: argparse.Namespace, address: str | None = None) -> Any:
    from recombine.lab.config import parse_override
    from recombine.lab.experiment import find_experiment, make_plan
    from recombine.lab.own import is_file, load_own
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
    return make_plan(experiment, budget, options.seeds, overrides, options.only)


def _plans(options: argparse.Namespace) -> list[Any]:
    """A plan for each address; the name of a study stands for all of its experiments."""
    from recombine.studies import EXPERIMENTS

    addresses: list[str] = []
    for word in options.addresses:
        addresses += [e.address for e in EXPERIMENTS.values() if e.study == word] or [word]
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


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 up")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time in seconds, more than 0 and less than an hour")
    return value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see `{self.prog} --help`)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="recombine", description="A workbench for compositional generalization in diffusion models.")
    parser.add_argument("--version", action="version", version=f"recombine {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)

    def command(name: str, function: Any) -> argparse.ArgumentParser:
        summary = (function.__doc__ or "").split("\n")[0]
        made: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
        made.set_defaults(command=function)
        return made

    def with_json(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
        made.add_argument("--json", action="store_true", help="answer for programs")
        return made

    def with_store(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
        default = os.environ.get("RECOMBINE_STORE", "store")
        made.add_argument("--store", default=default, metavar="DIR", help=f"folder of runs (default: {default})")
        return made

    def with_plan(made: argparse.ArgumentParser, many: bool = False, needed: bool = True) -> argparse.ArgumentParser:
        what = "of `recombine list`, or a YAML or Python file"
        if many:
            several = f"{what}; several run side by side, and a study's name stands for all of its experiments"
            made.add_argument("addresses", metavar="STUDY/EXPERIMENT", nargs="+", help=several)
        else:
            made.add_argument("address", metavar="STUDY/EXPERIMENT", nargs=None if needed else "?", help=what)
        made.add_argument("--budget", choices=("smoke", "laptop", "full"), help="default: full on a GPU, else laptop")
        made.add_argument("--seeds", type=int, metavar="N", help="how many seeds (default: the budget's)")
        made.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
        made.add_argument(
            "--set", action="append", default=[], metavar="A.B=C", help="override any field of the config"
        )
        made.add_argument("--only", metavar="ARM:SEED", help="one run of the plan, without judging")
        return with_store(with_json(made))

    with_json(command("list", list_experiments))
    running = with_plan(command("run", run), many=True)
    running.add_argument("--engine", default="local", help="what executes the plan")
    running.add_argument("--workers", type=_positive, metavar="N", help="processes on a CPU (default: cores)")
    running.add_argument("--plain", action="store_true", help="float32 eager instead of the fastest path")
    running.add_argument("--no-report", action="store_true", help="train only")
    with_plan(command("plan", show_plan))
    with_plan(command("status", show_status), needed=False)
    claims = with_store(with_json(command("claims", show_claims)))
    claims.add_argument("study", nargs="?", metavar="STUDY")
    claims.add_argument("--results", action="store_true", help="the committed evidence instead of the store")
    with_plan(command("figure", redraw))
    with_plan(command("adopt", adopt))
    reporting = with_plan(command("report", report))
    reporting.add_argument("--publish", action="store_true", help="copy the evidence into results/, renew RESULTS.md")
    reporting.add_argument("--results", action="store_true", help="judge and draw the evidence in results/ again")
    sampling = with_store(command("sample", draw_samples))
    sampling.add_argument("run", metavar="RUN", help="the first characters of a run's address")
    sampling.add_argument(
        "--condition", action="append", metavar="NODE", help="e.g. 111, or shape=triangle,color=blue,size=small"
    )
    sampling.add_argument("--count", type=int, default=8)
    sampling.add_argument("--out", type=Path, default=Path("samples.png"))
    benching = with_json(command("bench", bench))
    benching.add_argument("--device", default="auto")
    benching.add_argument("--seconds", type=_seconds, default=5.0, help="time for each measurement")
    return parser


if __name__ == "__main__":
    sys.exit(main())
