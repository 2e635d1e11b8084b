"""Numbers of the findings on the order of concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recombine.studies.identity_mapping._shared.figures import one_curve
from recombine.studies.identity_mapping._shared.flow_claims import per_start, single
from recombine.studies.identity_mapping.order.claims import RULE, SPREAD, log_ratios, released, settings, times
from recombine.studies.identity_mapping.order.experiment import OrderConfig
from recombine.theory.identity.flow import augmented

if TYPE_CHECKING:
    import polars as pl


def numbers(table: pl.DataFrame) -> dict[str, float | str]:
    """Times of networks and forms, shares near the flip, rates, and the turn of the deep networks."""
    import torch

    arm, world = released(table, "bias").arm, OrderConfig().world.replace(dimensions=2, signals=(1.0, 2.0))
    off = float(np.nanmedian(per_start(table, "time.error", arm=arm)))
    found: dict[str, float | str] = {"rule": RULE, "off": off, "slow": float(world.second_moment()[0])}
    found["slowest"] = float(torch.linalg.eigvalsh(augmented(world))[0])
    for k, name in ((1, "weak"), (2, "strong")):
        found[name] = float(np.median(times(table, arm, k)))
        for form in ("affine", "plain"):
            found[f"{form}_{name}"] = single(table, "time", arm=arm, form=form, concept=k)
    near = [each for each in settings(table, "bias", (1.0, 2.0)) if abs(each.variance - RULE) < 0.2]
    near.sort(key=lambda setting: setting.variance)
    found["near"] = ", ".join(f"{each.variance:g}" for each in near)
    found["near_shares"] = ", ".join(f"{np.mean(log_ratios(table, each.arm) < 0):.0%}" for each in near)
    deep = next(each for each in settings(table, "deep", (1.0, 2.0)) if each.variance == SPREAD)
    curve = one_curve(table, "answer.median", over="epoch", arm=deep.arm, concept=1)
    fast = one_curve(table, "answer.median", over="epoch", net="small-bias", concept=2)
    assert curve is not None
    assert fast is not None
    top = _first_peak(curve[1])
    found |= {"deep_high": float(curve[1][top]), "deep_low": float(curve[1][top:].min())}
    return found | {"fast": float(np.interp(6.0, fast[0], fast[1]) / 2.0)}  # of its target, where the curve bends


def _first_peak(values: np.ndarray) -> int:
    """Where a curve first turns down."""
    return int(np.flatnonzero(np.diff(values) < 0)[0])
