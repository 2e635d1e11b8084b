"""On a GPU a training step is compiled whole: no kind of network may break its graph, which only a GPU would tell."""

import pytest
import torch

from recombine import seeds
from recombine.lab.experiment import make_plan
from recombine.runs.base import Run
from recombine.studies import EXPERIMENTS
from recombine.training.replica import batch_loss

KINDS = {
    "concept-graphs/emergence": ("continuous",),
    "bumps/encodings": ("2D raw", "2D scalar"),
    "local-scores/length": ("1 1-3", "3 1-3", "2L 1-3", "3L 1-3"),
    "local-scores/receptive-field": ("labels near above",),
    "local-scores/soft": ("weight 1",),
    "local-scores/colours": ("all 1-3",),
}


@pytest.mark.parametrize(("address", "arm"), [(address, arm) for address, arms in KINDS.items() for arm in arms])
def test_the_loss_of_every_kind_of_network_is_one_graph(address: str, arm: str) -> None:
    (run,) = [planned.config for planned in make_plan(EXPERIMENTS[address], "smoke").runs if planned.arm == arm]
    assert isinstance(run, Run)
    model, condition = run.model(), run.prompts(None, 1)[0][:2].float()
    key = seeds.keys(0, "graph", torch.arange(len(condition)))
    images = seeds.normal(key, run.world.image_shape)
    given = model, images, condition, key, run.schedule.drawer(torch.device("cpu")), run.training.weighting
    torch._dynamo.reset()
    whole = torch.compile(batch_loss, backend="eager", dynamic=False, fullgraph=True)  # raises where a graph breaks
    torch.testing.assert_close(whole(*given), batch_loss(*given))
