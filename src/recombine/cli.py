"""The command line: its words, and what becomes of errors. What each command does is in `commands`.

Exit status 0 done, 1 a run failed, 2 wrong use. `--json` wherever a program might read the answer.
"""

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from recombine.commands import judging, making, running
from recombine.deferred import defer
from recombine.errors import UserError
from recombine.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    defer("torch")
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
    choices = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)

    def command(name: str, function: Any) -> argparse.ArgumentParser:
        summary = (function.__doc__ or "").split("\n")[0]
        made: argparse.ArgumentParser = choices.add_parser(name, help=summary, description=summary)
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
        made.add_argument(
            "--arm", action="append", default=[], metavar="ARM", help="of all arms only this one; may be given again"
        )
        made.add_argument("--only", metavar="ARM:SEED", help="one run of the plan, without judging")
        return with_store(with_json(made))

    with_json(command("list", running.list_experiments))
    executing = with_plan(command("run", running.run), many=True)
    executing.add_argument("--engine", default="local", help="what executes the plan")
    executing.add_argument(
        "--workers",
        type=_positive,
        metavar="N",
        help="processes (default: the cores of a CPU; on a GPU up to 4 that share it)",
    )
    executing.add_argument("--plain", action="store_true", help="float32 eager instead of the fastest path")
    executing.add_argument("--no-report", action="store_true", help="train only")
    with_plan(command("plan", running.show_plan))
    with_plan(command("status", running.show_status), needed=False)
    claims = with_store(with_json(command("claims", judging.show_claims)))
    claims.add_argument("study", nargs="?", metavar="STUDY")
    claims.add_argument("--results", action="store_true", help="the committed evidence instead of the store")
    comparing = with_store(with_json(command("compare", judging.compare)))
    comparing.add_argument("study", nargs="?", metavar="STUDY")
    comparing.add_argument("--publish", action="store_true", help="keep this run as the replication of the evidence")
    with_plan(command("figure", judging.redraw))
    with_plan(command("import", judging.import_runs))
    reporting = with_plan(command("report", judging.report), needed=False)
    reporting.add_argument("--publish", action="store_true", help="copy the evidence into results/ and renew its pages")
    reporting.add_argument("--results", action="store_true", help="judge and draw the evidence in results/ again")
    scoring = with_json(command("scoreboard", judging.show_scoreboard))
    scoring.add_argument("--write", action="store_true", help="renew results/README.md")
    beginning = command("new", making.new)
    where = "as in my-study/my-question; written into $RECOMBINE_STUDIES if that is set, else into the package"
    beginning.add_argument("address", metavar="STUDY/EXPERIMENT", help=where)
    sampling = with_store(command("sample", making.draw_samples))
    sampling.add_argument("run", metavar="RUN", help="the first characters of a run's address")
    sampling.add_argument(
        "--condition", action="append", metavar="WHAT",
        help="a node, 111, or shape=triangle,color=blue,size=small; of scenes, places in pixels, '12,20 40,33'",
    )  # fmt: skip
    sampling.add_argument("--count", type=int, default=8)
    sampling.add_argument("--out", type=Path, default=Path("samples.png"))
    benching = with_json(command("bench", making.bench))
    benching.add_argument("--device", default="auto")
    benching.add_argument("--seconds", type=_seconds, default=5.0, help="time for each measurement")
    return parser


if __name__ == "__main__":
    sys.exit(main())
