"""How the network of a run receives the label: the paper's sinusoids of x and y, or another code of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from recombine.denoisers.configs import ConditionConfig
from recombine.runs.bumps import BumpsRun
from recombine.settings import override

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

RAW, SHORT, LONG, SCALAR, ANGLES = "raw", "short", "long", "scalar", "angles"
HIDDEN = 128  # of the MLP that turns a number, or an angle, into an embedding


def with_code(run: BumpsRun, code: str) -> BumpsRun:
    """The same run, with its label in another code."""
    extent, (shortest, longest) = run.world.extent, ConditionConfig().periods
    embedded = {"network.condition.entry": "add", "network.condition.hidden": HIDDEN}
    changes: dict[str, dict[str, Any]] = {
        RAW: {"network.condition.periods": (shortest, longest)},
        SHORT: {"network.condition.periods": (shortest / 2, longest)},
        LONG: {"network.condition.periods": (2 * extent, 20 * extent)},
        SCALAR: {"world.encoding": "scalar", **embedded},
        ANGLES: {"world.encoding": "periodic", **embedded},
    }
    return override(run, changes[code])


def code_of(run: BumpsRun) -> str:
    """The name of the code of this run: column `code`."""
    if run.world.encoding != "raw":
        return SCALAR if run.world.encoding == "scalar" else ANGLES
    shortest, plain = run.network.condition.periods[0], ConditionConfig().periods[0]
    return RAW if shortest == plain else SHORT if shortest < plain else LONG


def encoded(run: BumpsRun, labels: Tensor) -> Tensor:
    """What the network receives before anything that is trained.  # [n, 2] -> [n, D]"""
    from recombine.denoisers.conditioners import Sinusoids

    condition, how = run.world.condition(labels), run.network.condition
    if how.entry != "positional":
        return condition
    sinusoids: Tensor = Sinusoids(how.width, how.periods)(condition)  # [n, 2, width]
    return sinusoids.flatten(1)


def code_distances(run: BumpsRun, farthest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Pixels between two labels, and the distance of their codes as a share of that at the farthest."""
    middle = run.world.extent / 2
    away = torch.linspace(0, farthest, 400, dtype=torch.float64)
    code = encoded(run, torch.stack([middle + away, torch.full_like(away, middle)], 1)).double()
    distance = (code - code[0]).norm(dim=1)
    return away.numpy(), (distance / distance[-1]).numpy()
