"""Studies: the experiments of each paper, written like its method section."""

from recombine.lab.experiment import Experiment
from recombine.studies.concept_graphs import emergence, sampler

EXPERIMENTS: dict[str, Experiment] = {e.address: e for e in (emergence.EXPERIMENT, sampler.EXPERIMENT)}
