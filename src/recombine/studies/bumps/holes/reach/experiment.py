"""Beyond Liang et al. 2024: is how far a model interpolates the reach of the label's code?

`lesion` finds that bands are bridged as far as 2 px from the nearest bump that was seen, `percolation` that a tenth of
a lattice is enough whatever the width of the bumps. Both would follow if what counts were how near labels are in the
code that the network receives. *World, split, model.* Bands of 4 and 8 px of `lesion`, and a tenth of the lattice of
`percolation`. *Varied.* The sinusoids' periods alone: the paper's from 6.3 px up ("raw"), from half of that ("short"),
none below twice the label space ("long"). *Expected, before any of them was trained:* short reaches less far than raw,
and long farther. *Beside it.* The nearest-label baseline.
"""

from typing import Any

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.bump_codes import LONG, RAW, code_of, with_code
from recombine.runs.bumps import BumpsRun
from recombine.runs.work import Work
from recombine.settings import override
from recombine.studies.bumps._shared.columns import BANDS, MAPS, MODELS
from recombine.studies.bumps._shared.nearest_label import baseline_of, model_of, nearest_label
from recombine.studies.bumps.holes.lesion import experiment as lesion
from recombine.studies.bumps.holes.reach.claims import CODES, SHARE, SIGMA, WIDTHS
from recombine.studies.bumps.percolation import experiment as percolation


def arms(
    band: BumpsRun, lattice: BumpsRun, codes: tuple[str, ...], widths: tuple[float, ...] = WIDTHS
) -> dict[str, Work]:
    """A run for each band and code, and one on the lattice; the nearest-label baseline of each band."""
    bands = {width: override(band, {"split.held_out.across": width}) for width in widths}
    dilute = override(lattice, {"world.width": SIGMA, "split.share": SHARE})
    runs: dict[str, Work] = {
        f"{code} W={width:g}": with_code(run, code) for width, run in bands.items() for code in codes
    }
    runs |= {f"{code} lambda={SHARE:g}": with_code(dilute, code) for code in codes}
    return runs | {baseline_of(f"{RAW} W={width:g}"): nearest_label(run) for width, run in bands.items()}


def of_arm(config: Any) -> dict[str, Any]:
    """The band that was held out or the share of the lattice that was seen, the code, and what answers."""
    held_out = config.split.held_out
    return {
        "width": None if held_out is None else held_out.across,
        "share": config.split.share if held_out is None else None,
        "code": code_of(config) if isinstance(config, BumpsRun) else None,
        "model": model_of(config),
    }


EXPERIMENT = Experiment(
    question="Is how far a model interpolates the reach of the label's code?",
    figure="beyond Liang et al. 2024, Figs 6e and 11",
    budgets={
        "smoke": Budget(arms(lesion.SMOKE, percolation.SMOKE, CODES, (2.0,)), 1, "seconds; proves the path"),
        "laptop": Budget(
            arms(lesion.LAPTOP, percolation.LAPTOP, (RAW, LONG)), 1, "16 and 12 px, raw and long, one seed, minutes"
        ),
        "full": Budget(
            arms(lesion.FULL, percolation.FULL, CODES), 5,
            "32 and 24 px, three codes of five seeds, on one GPU; the raw ones are those of lesion and percolation",
        ),
    },
    columns={**BANDS, **MAPS, **MODELS, "width": float, "share": float, "code": str},
    of_arm=of_arm,
    assumptions=(
        "Asked after `lesion`, `percolation` and half of `encodings` were judged: they chose the widths and the share, "
        "and that long sinusoids interpolate stripes was known. What is expected here was written down before.",
        "Short adds a period of 3.1 px and stretches the others: 64 of them in geometric progression up to the paper's "
        "longest. Long has them from twice to twenty times the label space, as in `encodings`.",
        "Bands by the fine estimate in columns across them, as in `lesion`; the lattice by the darkest pixel, as in "
        "`percolation`.",
    ),
)  # fmt: skip
