"""Commands that make something on the side: sample, bench, new."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from recombine.commands.common import print_json, store_of
from recombine.errors import UserError


def draw_samples(options: argparse.Namespace) -> None:
    """Draw images from a finished run."""
    from recombine.lab.sheet import draw_from_run

    print(draw_from_run(store_of(options).find(options.run), options.condition, options.count, options.out))


def bench(options: argparse.Namespace) -> None:
    """Measure this machine: ratios to the plain way of doing the same."""
    answer = _benchmark("speed").run_bench(options.device, options.seconds)
    if options.json:
        print_json(answer)
        return
    for name, value in answer["ratios"].items():
        print(f"{name:36} {value:10.3g}")
    print(f"on {answer['machine']['device']}, torch {answer['machine']['torch']}")


def new(options: argparse.Namespace) -> None:
    """Write the folder of a new experiment, which runs at smoke at once."""
    from recombine.lab.new_experiment import write_experiment
    from recombine.studies import EXPERIMENTS, study_folders

    folder = write_experiment(options.address, study_folders()[-1], EXPERIMENTS)
    print(f"{folder}\nrun it: recombine run {options.address} --budget smoke")


def _benchmark(name: str) -> Any:
    """A module of `benchmarks/`, which comes with the source tree and is no part of the package."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "benchmarks" / f"{name}.py").is_file():
        raise UserError("benchmarks come with the source tree: give this command in a checkout of recombine")
    if str(root) not in sys.path:
        sys.path.append(str(root))
    return importlib.import_module(f"benchmarks.{name}")
