"""Numbers of the findings that take more than one value of the table."""

from recombine.lab.table import Table, select
from recombine.lab.trends import Series, share
from recombine.studies.identity_mapping.linear_denoiser.claims import DEEP, at_two, ends, levels_at, pairs, retreats


def numbers(table: Table) -> dict[str, float | str]:
    """Shares of starts by gap as lists, ratios of learning times, and how exact the limits are."""
    times = select(table, "level.learning_time").sort("sigma")
    key = ["gap", "spread", "strong_spread", "condition", "concept"]
    limits = select(table, "identity.learning_time").select(*key, "value")
    last = times.group_by(key).last().join(limits, on=key, suffix="_limit")
    used = select(table, "level.condition_used", condition="class", sigma=times["sigma"].min())["value"]
    generated = pairs(table, "samples.learning_time", "model", condition="class")
    ratios = ends(generated["weak"] / generated["strong"])
    turning = pairs(table, "level.learning_time", "sigma", condition="class", sigma=times["sigma"].min())
    one_layer = [counts for model in DEEP for counts in retreats(table, model, layers=1).values()]
    alone = levels_at(table, 2.0)
    return {
        "limit_off": ends((last["value"] / last["value_limit"] - 1).abs())[1],
        "class_used": ends(used)[1],
        "ratio_low": ratios[0], "ratio_high": ratios[1],
        "turns_from": ends(turning.filter(turning["weak"] < turning["strong"])["spread"])[0],
        "gaps": ", ".join(f"{gap:g}" for gap in retreats(table, "edm")),
        "edm": _listed(retreats(table, "edm")), "identity": _listed(retreats(table, "identity")),
        "edm_loss": _listed(retreats(table, "edm", what="setbacks")),
        "identity_loss": _listed(retreats(table, "identity", what="setbacks")),
        "one_layer": float(sum(k for k, _ in one_layer)), "one_layer_of": float(sum(n for _, n in one_layer)),
        "middle_sigma": next(sigma for sigma in alone if sigma > 1),
        "middle": share(next(counts for sigma, counts in alone.items() if sigma > 1)),
        "separate": share(at_two("separate")(table)),
        "separate_loss": share(at_two("separate", what="setbacks")(table)),
        "identity_loss_two": share(at_two("identity", what="setbacks")(table)),
        "gaussian": share(at_two("edm", start="gaussian")(table)),
        "gaussian_loss": share(at_two("edm", start="gaussian", what="setbacks")(table)),
    }  # fmt: skip


def _listed(series: Series) -> str:
    return ", ".join(f"{100 * share(counts):.0f}%" for counts in series.values())
