"""Factor columns of tables of bumps: what a row is about, beside its arm, seed and images seen."""

from recombine.worlds.holdouts import LabelSplit

REGIONS: dict[str, type] = {"region": str, "sampler": str}
"""Of labels: "seen", "held out", "vertical arm", ... , "all"; "known" and "new" for trained on or not."""
BANDS: dict[str, type] = {**REGIONS, "depth": float}
"""And how far inside a band that is held out: where a bin of half a pixel ends."""
PLACES: dict[str, type] = {"x": float, "y": float}
"""A place in the image, in pixels from 1 on."""
MAPS: dict[str, type] = {**PLACES, "block": str, "trained": bool, "coordinate": int}
"""Coordinates of places in a block of a network, and how much of a sheet the block is before and after training."""
BLOCKS: dict[str, type] = {
    "block": str, "trained": bool,  # a block of a network, trained or not; or what it is compared with
    "rings": str, "torus": str,  # which rings are compared, and with which ideal torus
    "quantile": float, "component": int,  # of pairs of rings; of the spectrum
    "dimension": int, "bar": int,  # of homology
}  # fmt: skip
"""The geometry of a block."""
MODELS: dict[str, type] = {"model": str}
"""What answers the prompts: "trained", "nearest label", or a denoiser that was not trained."""
DATA: dict[str, type] = {**REGIONS, **MODELS, "data": str}
"""Which parts of the label space were trained on: "2D", "2D+1D", "1D", "1D+rim"."""


def data_of(split: LabelSplit) -> str:
    """The name of the parts that a split trains on; "rim" says that crossings just beyond the edge count as 1D."""
    return "+".join(split.parts) + ("+rim" if split.parts == ("1D",) and split.rim else "")
