"""The figure of the two samplers: every class of every model at every moment."""

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.panels import new_figure
from recombine.lab.report.kit.style import FAINT, distance_color, put_caption, seeds_text
from recombine.lab.table import Table
from recombine.runs.concept_graph import RunConfig
from recombine.studies.concept_graphs.measuring.sampler.claims import audited_cells


def draw(table: Table, config: RunConfig) -> dict[str, Drawing]:
    """Accuracy by one sampler against accuracy by the other."""
    cells = audited_cells(table)
    with new_figure(8, 8.4) as (figure, ((axes,),)):
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1)
        for part in cells.sort("distance").partition_by("distance"):
            distance = int(part["distance"][0])
            label = "distance " + str(distance) if distance else "trained"
            axes.scatter(part["slow"], part["fast"], s=90, alpha=0.45, color=distance_color(distance), label=label)
        axes.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal")
        fast = config.evaluation.sampler
        axes.set_xlabel(f"product accuracy, {cells['sampler'][0]}")
        axes.set_ylabel(f"product accuracy, {fast.method}-{fast.steps} ({fast.calls} network calls)")
        axes.legend(loc="upper left")
        axes.set_title(f"They differ by {cells['gap'].to_numpy().mean():+.3f} on average")
        images = config.evaluation.images_per_node
        put_caption(figure, f"A dot: one class, moment and seed; {images} images each.",
                    f"{seeds_text(cells['seed'].n_unique())}.")  # fmt: skip
    return {"figure": Drawing(figure, "The default sampler against 500-step ancestral sampling on models in training.")}
