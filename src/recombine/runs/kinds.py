"""Which kind of run a stored config is."""

from collections.abc import Mapping
from typing import Any

from recombine.runs.base import Run
from recombine.runs.bumps import BumpsRun
from recombine.runs.coloured_scenes import ColoursRun
from recombine.runs.concept_graph import RunConfig
from recombine.runs.scenes import ScenesRun
from recombine.settings import build

# By the kind of the world; all others are concept graphs.
KINDS: dict[str, type[Run]] = {"bumps": BumpsRun, "scenes": ScenesRun, "coloured-scenes": ColoursRun}


def read_run(config: Mapping[str, Any]) -> Run:
    """The run that a stored config describes."""
    return build(KINDS.get(config.get("world", {}).get("kind", ""), RunConfig), config)
