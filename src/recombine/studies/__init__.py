"""Studies: the experiments of each paper, written like its method section."""

from recombine.lab.experiment import Experiment
from recombine.studies.bumps import (
    arrangements,
    compose,
    compose_bumps,
    efficiency,
    encodings,
    exact,
    lesion,
    longer,
    percolation,
    percolation_theory,
    reach,
    squares,
    torus,
)
from recombine.studies.concept_graphs import (
    adversarial,
    blank,
    conditioning,
    emergence,
    faces,
    four_variables,
    frequency,
    sampler,
    signal,
    toy,
)
from recombine.studies.concept_space import hidden, speed, trajectories
from recombine.studies.identity_mapping import (
    descents,
    diffusion,
    failure,
    hierarchy,
    linear_denoiser,
    order,
    phase_diagram,
    stages,
    swing_by,
    truncation,
)
from recombine.studies.local_scores import (
    colours,
    dose,
    lemma,
    length,
    locality,
    machine,
    scatter,
    sdxl_features,
    sdxl_pixels,
    soft,
)

CONCEPT_GRAPHS = (emergence, toy, frequency, adversarial, four_variables, blank, conditioning, signal, faces, sampler)

CONCEPT_SPACE = (speed, trajectories, hidden)

IDENTITY_MAPPING = (order, stages, swing_by, descents, hierarchy, truncation, failure, phase_diagram, linear_denoiser,
                    diffusion)  # fmt: skip

BUMPS = (torus, compose, compose_bumps, longer, efficiency, percolation_theory, percolation, lesion, squares, encodings,
         reach, arrangements, exact)  # fmt: skip

LOCAL_SCORES = (lemma, length, locality, scatter, dose, machine, soft, colours, sdxl_pixels, sdxl_features)

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.address: module.EXPERIMENT
    for module in (*CONCEPT_GRAPHS, *CONCEPT_SPACE, *IDENTITY_MAPPING, *BUMPS, *LOCAL_SCORES)
}
