"""A user's experiment from a file: a YAML of what differs from an experiment of the house, or a Python module.

A YAML file names the experiment it starts from and the settings that are different; every arm takes them over. Claims
that speak of the paper's own classes are left out, those that make sense for any world and split are judged. A Python
file defines `EXPERIMENT` itself.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from recombine.errors import UserError
from recombine.lab.experiment import Budget, Experiment, changed_arms, find_experiment
from recombine.settings import Settings

STUDY = "user"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
OF_THE_FILE = ("experiment", "question", "seeds")  # keys that are not settings of a run


def is_file(address: str) -> bool:
    """Whether an address names a file instead of an experiment of the house."""
    return Path(address).suffix in (".yaml", ".yml", ".py")


def load_user_experiment(path: Path, registry: Mapping[str, Experiment]) -> Experiment:
    """The experiment that a file describes; its name is that of the file."""
    if not path.is_file():
        raise UserError(f"no file {path}: give the path of a YAML or Python file, or an experiment of `recombine list`")
    if not NAME.fullmatch(path.stem):
        raise UserError(f"{path}: the file's name names the experiment, use letters, digits, - and _ only")
    experiment = _from_python(path) if path.suffix == ".py" else _from_yaml(path, registry)
    study, name = experiment.study or STUDY, experiment.name or path.stem
    return replace(experiment, file=str(path), study=study, name=name)


def _from_yaml(path: Path, registry: Mapping[str, Experiment]) -> Experiment:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict) or not isinstance(data.get("experiment"), str):
        raise UserError(f"{path} must name the experiment it starts from, as in `experiment: concept-graphs/emergence`")
    base = find_experiment(registry, data["experiment"])
    seeds, question = data.get("seeds"), data.get("question", base.question)
    if not isinstance(question, str):
        raise UserError(f"{path}: question = {question!r} is no text")
    if seeds is not None and (not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1):
        raise UserError(f"{path}: seeds is {seeds!r}, give a number from 1 up")
    changes = {str(key): value for key, value in data.items() if key not in OF_THE_FILE}
    budgets = {}
    for name, budget in base.budgets.items():
        first = next(iter(budget.arms.values()))
        arms = changed_arms(budget.arms, dict(_flat(first, changes)))
        budgets[name] = Budget(arms, seeds or budget.seeds, budget.says)
    return replace(
        base,
        study=STUDY,
        name=path.stem,
        question=question,
        figure=f"{base.address} with other settings",
        budgets=budgets,
        claims=tuple(claim for claim in base.claims if claim.general),
        assumptions=(
            *base.assumptions,
            f"Settings that differ from {base.address}: {_in_words(changes) or 'none'}.",
        ),
        folder=None,
    )


def _from_python(path: Path) -> Experiment:
    """Imported under its own name, from its own folder, so that other processes can import what it defines."""
    name, known = path.stem, sys.modules.get(path.stem)
    if known is not None and not hasattr(known, "_recombine_user"):
        raise UserError(f"{path}: there is a module called '{name}' already, give the file another name")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module._recombine_user = True  # type: ignore[attr-defined]
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except UserError:
        raise
    except (Exception, SystemExit) as error:  # whatever the user's own code raises
        raise UserError(f"{path} cannot be read: {type(error).__name__}: {' '.join(str(error).split())}") from error
    experiment = getattr(module, "EXPERIMENT", None)
    if not isinstance(experiment, Experiment):
        raise UserError(f"{path} must define EXPERIMENT, a recombine.lab.experiment.Experiment")
    return experiment


def _flat(settings: Settings, changes: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested changes as dotted keys, as deep as the settings themselves are nested."""
    for key, value in changes.items():
        inner = getattr(settings, key, None)
        kind = getattr(inner, "kind", None)
        if isinstance(value, dict) and isinstance(inner, Settings) and value.get("kind", kind) == kind:
            yield from _flat(inner, {str(k): v for k, v in value.items()}, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _in_words(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in changes.items())
