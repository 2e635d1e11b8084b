"""The training loop, for one replica or a fleet of them on one device.

Progress is counted in images seen. At each milestone a replica is observed; between milestones the loop only
steps, looks at the loss, and saves. A replica whose loss is lost leaves the fleet; the others go on.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from recombine.errors import RunFailed
from recombine.training.replica import Replica

LOOK_SECONDS = 0.5  # about how often the host waits for the device, looks at the losses and reports


@dataclass(frozen=True)
class Trainee:
    """A replica, its milestones (images seen, ascending; the last ends its training) and what happens there."""

    replica: Replica
    milestones: Sequence[int]
    observe: Callable[[int], None]
    save: Callable[[], None]
    report: Callable[[int, float], None]

    @property
    def steps_left(self) -> int:
        """Steps to the next milestone; 0 when training is over."""
        ahead = (m for m in self.milestones if m > self.replica.images_seen)
        return -(-(next(ahead, self.replica.images_seen) - self.replica.images_seen) // self.replica.config.batch)


def train(trainees: Sequence[Trainee], save_seconds: float = 60.0) -> None:
    """Train all to their last milestones; on a GPU they run side by side, each replica on a stream of its own."""
    for trainee in trainees:
        trainee.replica.prepare()
    on_gpu = any(t.replica.seen.is_cuda for t in trainees)
    lost: list[RunFailed] = []
    active, steps, saved = list(trainees), 1, time.monotonic()
    try:
        while active := [t for t in active if t.steps_left]:
            _wait(on_gpu)  # what was observed or restored on the default stream must be there for the replicas
            began = time.monotonic()
            stride = min(steps, *(t.steps_left for t in active))
            for _ in range(stride):
                for trainee in active:
                    trainee.replica.step()
            _wait(on_gpu)
            seconds = max(time.monotonic() - began, 1e-6)
            steps = max(1, min(2 * stride, round(stride * LOOK_SECONDS / seconds)))
            for trainee in tuple(active):
                try:
                    _look(trainee)
                except RunFailed as failure:
                    lost.append(failure)
                    active.remove(trainee)
            if time.monotonic() - saved > save_seconds:
                _save(active)
                saved = time.monotonic()
    except KeyboardInterrupt:
        _save(active)
        raise
    if lost:
        raise lost[0]


def _look(trainee: Trainee) -> None:
    seen = trainee.replica.images_seen
    trainee.report(seen, trainee.replica.take_loss())
    if seen in trainee.milestones:
        trainee.observe(seen)


def _save(trainees: Sequence[Trainee]) -> None:
    for trainee in trainees:
        trainee.save()


def _wait(on_gpu: bool) -> None:
    if on_gpu:
        torch.cuda.synchronize()
