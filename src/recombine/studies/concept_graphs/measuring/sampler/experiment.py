"""Can evaluation afford fewer network calls? 25 steps against the 500 of ancestral sampling, on models in training.

Sampling 500 steps at every evaluation costs many times the training itself. The models of the emergence experiment are
measured at two moments, when part of what they draw is still wrong, with the default sampler and with 500-step
ancestral sampling as in the paper. What is compared is the reader's product accuracy of every class.
"""

from recombine.instruments.observation import Audit
from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.experiment import Budget, Experiment
from recombine.settings import override
from recombine.studies.concept_graphs.emergence import experiment as emergence

TWICE = {"evaluation.points": 2, "evaluation.audit": Audit(points=2).model_dump(mode="json")}
FULL = override(emergence.FULL, TWICE | {"training.images": 120_000, "evaluation.first": 40_000})
LAPTOP = override(emergence.LAPTOP, TWICE | {"training.images": 24_000, "evaluation.first": 8_000})


EXPERIMENT = Experiment(
    question="Does a sampler with a twentieth of the network calls read what 500-step ancestral sampling reads?",
    figure="beyond the paper; its evaluation samples 500 steps",
    columns=COLUMNS,
    budgets={
        "smoke": Budget({emergence.HEADLINE: emergence.SMOKE}, 1, "seconds; the runs of emergence at smoke"),
        "laptop": Budget({emergence.HEADLINE: LAPTOP}, 6, "16 px, six seeds, about a quarter of an hour on two cores"),
        "full": Budget({emergence.HEADLINE: FULL}, 5, "28 px, five seeds, minutes on one GPU"),
    },
    assumptions=("Both samplers start from the same noise, image by image.",),
)
