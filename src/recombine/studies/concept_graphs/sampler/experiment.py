"""Can evaluation afford fewer network calls? 25 steps against the 500 of ancestral sampling, on models in training.

Sampling 500 steps at every evaluation costs many times the training itself. The models of the emergence experiment are
measured at two moments, when part of what they draw is still wrong, with the default sampler and with 500-step
ancestral sampling as in the paper. What is compared is the reader's product accuracy of every class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recombine.instruments.observation import Audit
from recombine.lab.experiment import Budget, Drawing, Experiment
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs._shared import claims
from recombine.studies.concept_graphs.emergence import experiment as emergence

if TYPE_CHECKING:
    import polars

TWICE = {"evaluation.points": 2, "evaluation.audit": Audit(points=2).model_dump(mode="json")}
FULL = override(emergence.FULL, TWICE | {"training.images": 120_000, "evaluation.first": 40_000})
LAPTOP = override(emergence.LAPTOP, TWICE | {"training.images": 24_000, "evaluation.first": 8_000})


def draw(table: polars.DataFrame, config: RunConfig) -> dict[str, Drawing]:
    """Every class of every model at every moment: accuracy by one sampler against accuracy by the other."""
    from matplotlib.figure import Figure

    from recombine.lab.report.kit.style import distance_color, house_style, put_caption

    cells, name = claims.audited_cells(table)
    with house_style():
        figure = Figure(figsize=(7.5, 7.5), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color="#9A9A9A", linewidth=1)
        for distance, part in sorted(cells.partition_by("distance", as_dict=True).items()):
            label = "trained" if distance[0] == 0 else f"distance {distance[0]}"
            axes.scatter(part["slow"], part["fast"], s=70, alpha=0.45, color=distance_color(distance[0]), label=label)
        axes.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal")
        fast = config.evaluation.sampler
        axes.set_xlabel(f"product accuracy, {name}")
        axes.set_ylabel(f"product accuracy, {fast.method}-{fast.steps} ({fast.calls} network calls)")
        axes.legend(loc="upper left")
        seeds, images = cells["seed"].n_unique(), config.evaluation.images_per_node
        put_caption(figure, f"A dot: one class, moment and seed; {images} images each. n = {seeds} seeds.")
    return {"figure": Drawing(figure, "The default sampler against 500-step ancestral sampling on models in training.")}


EXPERIMENT = Experiment(
    study="concept-graphs",
    name="sampler",
    question="Does a sampler with a twentieth of the network calls read what 500-step ancestral sampling reads?",
    figure="beyond the paper; its evaluation samples 500 steps",
    budgets={
        "smoke": Budget({emergence.HEADLINE: emergence.SMOKE}, 1, "seconds; the runs of emergence at smoke"),
        "laptop": Budget({emergence.HEADLINE: LAPTOP}, 6, "16 px, six seeds, about a quarter of an hour on two cores"),
        "full": Budget({emergence.HEADLINE: FULL}, 5, "28 px, five seeds, minutes on one GPU"),
    },
    claims=claims.SAMPLER,
    draw=draw,
    notes=("Both samplers start from the same noise, image by image.",),
)
