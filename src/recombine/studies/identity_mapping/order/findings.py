"""Numbers of the findings on the order of concepts."""

import numpy as np

from recombine.lab.table import Table
from recombine.runs.identity.order import OrderConfig
from recombine.studies.identity_mapping._shared.figures import one_curve
from recombine.studies.identity_mapping.order.claims import RULE, log_ratios, settings
from recombine.theory.identity.flow import augmented


def numbers(table: Table) -> dict[str, float | str]:
    """Shares near the flip, the slowest rate with a bias, and the turn of the weak coordinate in deep networks."""
    import torch

    near = [each for each in settings(table, "bias", (1.0, 2.0)) if abs(each.variance - RULE) < 0.2]
    near.sort(key=lambda setting: setting.variance)
    curve = one_curve(table, "answer.median", over="epoch", net="deep", mu_1=1.0, concept=1)
    weak = np.zeros(2) if curve is None else curve[1]
    peak = int(np.argmax(np.diff(weak) < 0))  # where it first turns down
    world = OrderConfig().world.replace(dimensions=2, signals=(1.0, 2.0))
    return {
        "near": ", ".join(f"{each.variance:g}" for each in near),
        "near_shares": ", ".join(f"{np.mean(log_ratios(table, each.arm) < 0):.0%}" for each in near),
        "slowest": float(torch.linalg.eigvalsh(augmented(world))[0]),
        "deep_high": float(weak[peak]), "deep_low": float(weak[peak:].min()),
    }  # fmt: skip
