"""What a run left behind: its model, if the weights are at hand."""

from pathlib import Path

import torch

from recombine.lab.samples import Samples
from recombine.lab.store import Store
from recombine.studies.local_scores.length.experiment import EXPERIMENT
from recombine.training.state import save_tensors


def test_the_model_is_the_one_whose_weights_were_kept(tmp_path: Path) -> None:
    run = EXPERIMENT.budgets["smoke"].arms["1 1-3"]
    folder = Store(tmp_path).run(run.address)
    kept = Samples(run, 0, {}, folder)  # type: ignore[arg-type]
    assert kept.model() is None, "no weights yet"
    weights = {name: torch.randn_like(value) for name, value in kept.run.model().state_dict().items()}
    folder.path.mkdir(parents=True)
    save_tensors(folder.weights_path, weights, run.address)
    found = kept.model()
    assert found is not None
    assert all(torch.equal(value, weights[name]) for name, value in found.state_dict().items())
    assert not found.training
    assert kept._replace(folder=None).model() is None
