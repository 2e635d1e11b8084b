"""recombine: a workbench for compositional generalization in conditional diffusion models.

    import recombine as rc

    result = rc.run("concept-graphs/emergence", budget="laptop")   # train what is missing, judge, draw, report
    result.table, result.verdicts, result.figures
    model = rc.load(result.runs[0])                                # a finished run, by its address
    images = model.sample("shape=triangle color=blue size=small", n=8)

Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from recombine.version import __version__ as __version__

if TYPE_CHECKING:
    from recombine import worlds as worlds
    from recombine.front_door import Model as Model
    from recombine.front_door import Result as Result
    from recombine.front_door import experiments as experiments
    from recombine.front_door import load as load
    from recombine.front_door import measure as measure
    from recombine.front_door import run as run
    from recombine.front_door import sample as sample
    from recombine.front_door import train as train
    from recombine.lab.store import Store as Store

__all__ = ["Model", "Result", "Store", "experiments", "load", "measure", "run", "sample", "train", "worlds"]

_WHERE = dict.fromkeys(__all__, "recombine.front_door") | {"Store": "recombine.lab.store"}


def __getattr__(name: str) -> Any:
    if name == "worlds":
        return importlib.import_module("recombine.worlds")
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'recombine' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
