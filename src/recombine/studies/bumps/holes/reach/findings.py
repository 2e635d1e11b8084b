"""Numbers of the findings by code."""

from typing import Any

import numpy as np

from recombine.instruments.bumps.band_evaluation import BIN
from recombine.lab.rules import mean
from recombine.lab.sweeps import levels
from recombine.lab.table import Table, at_end
from recombine.runs.bump_codes import code_distances, with_code
from recombine.studies.bumps._shared.nearest_label import TRAINED
from recombine.studies.bumps.holes.lesion.experiment import FULL
from recombine.studies.bumps.holes.reach.claims import CODES, WIDE


def numbers(table: Table) -> dict[str, Any]:
    """Accuracies by code; where accuracy in the wide band, and distance in the code, are a half."""

    def final(code: str, instrument: str = "fine.both", **where: Any) -> float:
        return mean(at_end(table, instrument, model=TRAINED, code=code, **where))

    def half_at(code: str) -> str:
        ends = np.array(levels(table, "depth"))
        values = np.array([final(code, width=WIDE, depth=float(end)) for end in ends])
        if (values > 0.5).all():
            return "not at all"
        first = int((values <= 0.5).argmax())
        share = (values[first - 1] - 0.5) / (values[first - 1] - values[first])
        return f"{ends[first - 1] - BIN / 2 + share * BIN:.1f}"

    def near(code: str) -> str:
        away, distance = code_distances(with_code(FULL, code), 12.0)
        return f"{float(away[(distance >= 0.5).argmax()]):.1f}"

    halves, codes = ({code: at(code) for code in CODES} for at in (half_at, near))
    return {"final": final, "half": halves, "code": codes}
