"""The training loop, for one replica or a fleet of them on one device.

Progress is counted in images seen. At each milestone a replica is observed; between milestones the loop only
steps, checks the loss, and saves. A replica whose loss is not finite leaves the fleet; the others go on.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from recombine.errors import RunFailed
from recombine.training.replica import Replica

REPORT_SECONDS = 0.5  # about how often the host waits for the device, checks the losses and reports


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
    """Train all to their last milestones; on a GPU they run side by side, each replica on a separate stream."""
    for trainee in trainees:
        trainee.replica.prepare()
    on_gpu = any(t.replica.seen.is_cuda for t in trainees)
    active, lost = [t for t in trainees if t.steps_left], list[RunFailed]()
    steps, saved = 1, time.monotonic()
    with _held_interrupts() as interrupted:
        try:
            while active:
                _wait(on_gpu)  # what was observed or restored on the default stream must be there for the replicas
                began = time.monotonic()
                stride = min(steps, *(t.steps_left for t in active))
                for _ in range(stride):
                    for trainee in active:
                        trainee.replica.step()
                    if interrupted():
                        raise KeyboardInterrupt
                _wait(on_gpu)
                seconds = max(time.monotonic() - began, 1e-6)
                steps = max(1, min(2 * stride, round(stride * REPORT_SECONDS / seconds)))
                for trainee in tuple(active):
                    try:
                        _report(trainee)
                    except RunFailed as failure:
                        lost.append(failure)
                        active.remove(trainee)
                    else:
                        if not trainee.steps_left:
                            active.remove(trainee)
                if time.monotonic() - saved > save_seconds:
                    lost += _save(active)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            _wait(on_gpu)
            _save(active)
            raise
    if lost:
        raise RunFailed("; ".join(str(failure) for failure in lost))


def _report(trainee: Trainee) -> None:
    seen = trainee.replica.images_seen
    trainee.report(seen, trainee.replica.take_loss())
    if seen in trainee.milestones:
        trainee.observe(seen)


def _save(trainees: list[Trainee]) -> list[RunFailed]:
    """Save who is between two steps; who cannot be saved leaves the fleet, and the failure returns."""
    failures = []
    for trainee in tuple(trainees):
        try:
            if trainee.replica.whole:
                trainee.save()
        except RunFailed as failure:
            failures.append(failure)
            trainees.remove(trainee)
    return failures


@contextmanager
def _held_interrupts() -> Iterator[Callable[[], bool]]:
    """Hold Ctrl-C and a scheduler's SIGTERM back until a step is over and can be saved; the third is obeyed at once."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked: list[int] = []

    def hold(number: int, frame: object) -> None:
        asked.append(number)
        if len(asked) > 2:
            raise KeyboardInterrupt

    held = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]  # as nohup asks
    before = {number: signal.signal(number, hold) for number in held}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(on_gpu: bool) -> None:
    if on_gpu:
        torch.cuda.synchronize()
