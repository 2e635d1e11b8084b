"""Worlds: data-generating processes, factor values in, images and conditions out.

`ShapesWorld`, `BumpsWorld`, `SceneWorld`, `MixtureWorld`, `FacesWorld`, and what of a world a model may see: `Split`,
`design`. Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recombine.worlds.bumps import BumpsWorld as BumpsWorld
    from recombine.worlds.faces import FacesWorld as FacesWorld
    from recombine.worlds.holdouts import LabelSplit as LabelSplit
    from recombine.worlds.mixture import MixtureWorld as MixtureWorld
    from recombine.worlds.scenes.split import SceneSplit as SceneSplit
    from recombine.worlds.scenes.world import SceneWorld as SceneWorld
    from recombine.worlds.shapes import ShapesWorld as ShapesWorld
    from recombine.worlds.splits import Split as Split
    from recombine.worlds.splits import design as design

_WHERE = {
    "BumpsWorld": "bumps", "FacesWorld": "faces", "LabelSplit": "holdouts", "MixtureWorld": "mixture",
    "SceneSplit": "scenes.split", "SceneWorld": "scenes.world", "ShapesWorld": "shapes", "Split": "splits",
    "design": "splits",
}  # fmt: skip
__all__ = [
    "BumpsWorld", "FacesWorld", "LabelSplit", "MixtureWorld", "SceneSplit", "SceneWorld", "ShapesWorld", "Split",
    "design",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"recombine.worlds.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'recombine.worlds' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
