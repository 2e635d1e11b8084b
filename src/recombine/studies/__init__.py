"""Studies: the experiments of each paper. A folder with an `experiment.py` is an experiment; nothing registers it.

`studies/concept_graphs/emergence/experiment.py` is `concept-graphs/emergence`. Folders between a study and its
experiments only group them. An experiment is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recombine.lab.experiment import Experiment

FOLDER = Path(__file__).parent


@cache
def experiment_modules() -> dict[str, str]:
    """{address: the module that describes it}, study by study."""
    found: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*/**/experiment.py")):
        study, *_, name = path.parent.relative_to(FOLDER).parts
        module = ".".join((__name__, *path.relative_to(FOLDER).with_suffix("").parts))
        address = f"{study}/{name}".replace("_", "-")
        if address in found:
            raise ValueError(f"{module} and {found[address]} are both called '{address}'")
        found[address] = module
    return dict(sorted(found.items()))


class Registry(Mapping[str, "Experiment"]):
    """Every experiment by its address; the one that is asked for is imported then."""

    def __getitem__(self, address: str) -> Experiment:
        experiment: Experiment = importlib.import_module(experiment_modules()[address]).EXPERIMENT
        if experiment.address != address:
            raise ValueError(
                f"{experiment_modules()[address]} describes '{experiment.address}', its folder '{address}'"
            )
        return experiment

    def __iter__(self) -> Iterator[str]:
        return iter(experiment_modules())

    def __len__(self) -> int:
        return len(experiment_modules())

    def __contains__(self, address: object) -> bool:
        return address in experiment_modules()


EXPERIMENTS = Registry()
