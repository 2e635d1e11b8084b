import polars as pl
import pytest

from recombine.lab.claims import NotMeasured
from recombine.lab.table import make_table
from recombine.studies.concept_graphs._shared.claims import audited_cells
from recombine.studies.concept_graphs.emergence.experiment import SMOKE
from recombine.studies.concept_graphs.sampler.experiment import EXPERIMENT, FULL, LAPTOP


def table(gap: float) -> pl.DataFrame:
    rows = []
    for seed in range(5):
        for node, distance in (("000", 0), ("011", 1), ("111", 2)):
            head = ("concept-graphs", "sampler", "continuous", seed, 1000, node, distance)
            rows += [(*head, "reader.product", 0.5 + gap), (*head, "reader.product@ancestral-500", 0.5)]
    return make_table(rows)


def test_every_cell_has_both_readings() -> None:
    cells, name = audited_cells(table(0.1))
    assert name == "ancestral-500"
    assert cells.height == 15
    assert cells["gap"].to_list() == pytest.approx([0.1] * 15)
    with pytest.raises(NotMeasured):
        audited_cells(table(0.1).filter(pl.col("instrument") == "reader.product"))


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
