"""The sheet of samples of an experiment on scenes: one figure of all arms, with the labels that models were told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from recombine.lab.experiment import Drawing

if TYPE_CHECKING:
    from recombine.lab.samples import Samples

COUNTS = (1, 3, 6, 9)  # the paper's


def marked_sheet(
    caption: str, name: Callable[[str], str | None] = str, counts: Sequence[int] = COUNTS, words: str = "",
    sheet: str = "samples",
) -> Callable[[Mapping[str, Samples]], dict[str, Drawing]]:  # fmt: skip
    """For `Experiment.sheets`; `name`: how an arm is called, none if it is left out; `words` tell more."""

    def sheets(kept: Mapping[str, Samples]) -> dict[str, Drawing]:
        from recombine.studies.local_scores._shared import sample_figure as drawings_samples

        names = {arm: named for arm in kept if (named := name(arm)) is not None}
        if kept and not names:
            return {}  # a budget that has none of these arms
        return {sheet: Drawing(drawings_samples.told_and_drawn(kept, names, counts, words), caption)}

    return sheets
