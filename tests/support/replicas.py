"""Small replicas for the tests of training."""

from recombine import seeds
from recombine.denoisers.configs import UNetConfig
from recombine.denoisers.network import NetworkDenoiser
from recombine.denoisers.unet import UNet
from recombine.diffusion.schedules import LinearSchedule
from recombine.training.execution import Execution
from recombine.training.replica import Replica, TrainingConfig
from recombine.worlds.shapes import ShapesWorld
from recombine.worlds.splits import design, make_pool

WORLD = ShapesWorld(pixels=8, position_jitter=0.0)
SPLIT = design("H32-train1").replace(count=20)
POOL = make_pool(WORLD, SPLIT, 0)
SCHEDULE = LinearSchedule()
NETWORK = UNetConfig(channels=8, multipliers=(1, 2))
BATCH = 8
SHORT = TrainingConfig(images=6 * BATCH, batch=BATCH, rate=3e-4)


def make_model(network=NETWORK, seed=0):
    with seeds.torch_seeded(seed):
        return NetworkDenoiser(UNet(network, WORLD.image_shape, WORLD.condition_widths), "noise")


def make_replica(config=SHORT, execution=None, network=NETWORK, order=0, init=0):
    return Replica(make_model(network, init), POOL, SCHEDULE, config, order, execution or Execution())


def advance(replica, steps):
    for _ in range(steps):
        replica.step()
    return replica
