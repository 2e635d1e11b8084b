"""Studies: the experiments of each paper. A folder with an `experiment.py` is an experiment; nothing registers it.

`studies/concept_graphs/emergence/experiment.py` is `concept-graphs/emergence`. Folders between a study and its
experiments only group them. An experiment is imported when it is asked for. The environment variable
RECOMBINE_STUDIES names further folders of studies, laid out alike.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recombine.lab.experiment import Experiment

FOLDER = Path(__file__).parent
OWN = "RECOMBINE_STUDIES"  # folders of a user's own studies, written as PATH is


def study_folders() -> list[Path]:
    """The folders that hold studies: that of the package, and those of the user."""
    own = [Path(text).expanduser().resolve() for text in os.environ.get(OWN, "").split(os.pathsep) if text]
    return [FOLDER, *own]


def experiment_folders() -> dict[str, Path]:
    """{address: the folder of the experiment}, in order."""
    found: dict[str, Path] = {}
    for root in study_folders():
        for path in root.glob("*/**/experiment.py"):
            study, *_, name = path.parent.relative_to(root).parts
            address = f"{study}/{name}".replace("_", "-")
            if address in found:
                raise ValueError(f"{path.parent} and {found[address]} are both called '{address}'")
            found[address] = path.parent
    return dict(sorted(found.items()))


class Registry(Mapping[str, "Experiment"]):
    """Every experiment by its address; the one that is asked for is imported then."""

    def __init__(self) -> None:
        self._known: dict[Path, Experiment] = {}

    def __getitem__(self, address: str) -> Experiment:
        from recombine.lab.experiment import complete

        folder = experiment_folders()[address]
        if folder not in self._known:
            package = package_of(folder)
            experiment = importlib.import_module(f"{package}.experiment").EXPERIMENT
            study, _, name = address.partition("/")
            self._known[folder] = complete(experiment, package, folder, study, name)
        return self._known[folder]

    def __iter__(self) -> Iterator[str]:
        return iter(experiment_folders())

    def __len__(self) -> int:
        return len(experiment_folders())

    def __contains__(self, address: object) -> bool:
        return address in experiment_folders()


def package_of(folder: Path) -> str:
    """The name to import a folder by. Those of a user are importable from the folder of studies that they are in."""
    for root in study_folders():
        if folder.is_relative_to(root):
            parts = folder.relative_to(root).parts
            if root == FOLDER:
                return ".".join((__name__, *parts))
            if str(root) not in sys.path:
                sys.path.append(str(root))
            return ".".join(parts)
    raise ValueError(f"{folder} is in no folder of studies")


EXPERIMENTS = Registry()
