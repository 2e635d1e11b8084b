from typing import Any

import polars as pl
import pytest

from recombine.lab.claims import NotMeasured
from recombine.studies import EXPERIMENTS
from recombine.studies.concept_graphs.emergence.experiment import SMOKE
from recombine.studies.concept_graphs.measuring.sampler.claims import audited_cells
from recombine.studies.concept_graphs.measuring.sampler.experiment import FULL, LAPTOP
from support.tables import table_of

EXPERIMENT = EXPERIMENTS["concept-graphs/sampler"]


def table(gap: float) -> pl.DataFrame:
    def readings(arm: str, seed: int, node: str, seen: int) -> dict[Any, float]:
        return {"reader.product": 0.5 + gap, ("reader.product", None, None, "ancestral-500"): 0.5}

    return table_of(readings, ["continuous"], ("000", "011", "111"), [1000])


def test_every_cell_is_measured_by_both() -> None:
    cells = audited_cells(table(0.1))
    assert set(cells["sampler"]) == {"ancestral-500"}
    assert cells.height == 15
    assert cells["gap"].to_list() == pytest.approx([0.1] * 15)
    with pytest.raises(NotMeasured):
        audited_cells(table(0.1).filter(pl.col("sampler").is_null()))


def test_the_note_counts_cells_on_the_same_side_and_arms_are_no_substitute_for_seeds() -> None:
    """Three seeds in two arms are three seeds, not six."""
    (claim,) = EXPERIMENT.claims
    assert "15 of 15 cells" in claim.judge(table(0.2)).note
    few = table(0.0).filter(pl.col("seed") < 3)
    both = pl.concat([few, few.with_columns(arm=pl.lit("binary"))])
    assert (claim.judge(both).verdict, claim.judge(both).n) == ("undecided", 3)


@pytest.mark.parametrize(("gap", "verdict"), [(0.0, "holds"), (0.2, "fails"), (-0.2, "fails")])
def test_the_claim_is_about_the_difference(gap: float, verdict: str) -> None:
    (claim,) = EXPERIMENT.claims
    answer = claim.judge(table(gap))
    assert (answer.verdict, answer.n) == (verdict, 5)
    assert answer.estimate == pytest.approx(gap)


def test_the_default_sampler_makes_at_most_a_tenth_of_the_calls() -> None:
    for config in (FULL, LAPTOP):
        assert config.evaluation.audit is not None
        assert config.evaluation.audit.sampler.calls == 500
        assert config.evaluation.sampler.calls <= 50
        config.check()


def test_the_figure_shows_every_distance() -> None:
    (drawing,) = EXPERIMENT.draw(table(0.1), SMOKE).values()
    legend = drawing.figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["trained", "distance 1", "distance 2"]
