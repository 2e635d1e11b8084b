"""Numbers of the findings that take more than one value of the table."""

import torch

from recombine.lab.table import Table
from recombine.runs.identity.hierarchy import CONCEPTS, HierarchyConfig, every_probe
from recombine.theory.identity.flow import augmented


def numbers(table: Table) -> dict[str, float | str]:
    """How much of the slowest direction of learning is the bias, and how much of it each probe has."""
    world = HierarchyConfig().world.replace(dimensions=len(CONCEPTS))
    slowest = torch.linalg.eigh(augmented(world))[1][:, 0]  # [d + 1], the bias last
    slowest = slowest * -torch.sign(slowest[-1])
    parts = {name: float(point @ slowest[:-1] + slowest[-1]) for name, point in every_probe(world).items()}
    return {
        "bias": float(slowest[-1] ** 2),
        "at_origin": parts["0000"],
        "at_weakest": parts["1000"],
        "at_pairs_low": min(part for name, part in parts.items() if name.count("1") == 2),
        "at_pairs_high": max(part for name, part in parts.items() if name.count("1") == 2),
        "at_all": parts["1111"],
    }
