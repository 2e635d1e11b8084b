"""Jobs: trainings and computations, from a config to a finished folder in the store; what was begun is resumed.

Runs that are given together train side by side on one device. A run is locked while it is written, and left alone if it
is finished, here or in another process. Killed at any moment and started again, it ends as if it had never stopped: its
checkpoint holds every tensor, and measurements made after the checkpoint are dropped and made again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import torch

from recombine.diffusion.samplers import SamplerConfig
from recombine.errors import RunFailed, UserError
from recombine.files import read_rows, write_json
from recombine.instruments.observation import Row
from recombine.lab.execute.provenance import describe_machine, now
from recombine.lab.store import RunFolder, Store
from recombine.runs.base import Run
from recombine.runs.work import Computation
from recombine.training.execution import Execution, keep_freed_memory
from recombine.training.inference import FastDenoiser
from recombine.training.loop import Trainee, train
from recombine.training.replica import Replica
from recombine.training.state import load_tensors, save_tensors

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class RunProgress:
    """How far one run is."""

    address: str
    images_seen: int
    total: int
    loss: float | None = None
    text: str = ""


OnProgress = Callable[[RunProgress], None]


def train_runs(
    configs: Sequence[Run], store: Store, execution: Execution, on_progress: OnProgress, save_seconds: float = 60
) -> None:
    """Train every run to its end. Locks are taken in order of address, so two processes cannot block each other."""
    if not execution.device.startswith("cuda"):
        keep_freed_memory()
    with ExitStack() as held:
        missing: list[tuple[Run, RunFolder]] = []
        asked = {config.address: config for config in configs}
        for config in sorted(asked.values(), key=lambda c: c.address):
            folder, total = store.run(config.address), config.training.total
            waiting = RunProgress(config.address, 0, total, text="waiting: another process trains this run")
            held.enter_context(folder.lock(on_wait=partial(on_progress, waiting)))
            if folder.done:
                on_progress(RunProgress(config.address, total, total, text="done before"))
            else:
                missing.append((config, folder))
        order = list(asked)  # of the plan, where runs that share images follow each other
        missing.sort(key=lambda each: order.index(each[0].address))
        samplers: dict[str, FastDenoiser] = {}
        trainees, failures = [], []
        for config, folder in missing:
            try:
                *_, parent, _ = (None, *config.ancestry())
                start = None if parent is None else store.run(parent.address)
                sharing = len(missing) * execution.sharing
                trainees.append(_Training(config, folder, start, execution, on_progress, samplers, sharing).trainee())
            except UserError as failure:  # of this run alone; the others continue
                failures.append(str(failure))
        try:
            train(trainees, save_seconds)
        except RunFailed as failure:
            failures.append(str(failure))
        if failures:
            raise RunFailed("; ".join(failures))


def compute(computation: Computation, store: Store, on_progress: OnProgress) -> None:
    """Do a computation; one that was interrupted begins again."""
    folder = store.run(computation.address)
    with folder.lock():
        if not folder.done:
            computation.check()
            folder.write_config(computation)
            write_json(folder.provenance_path, {"started": now(), **describe_machine(Execution.plain("cpu"))})
            folder.drop_rows_after(-1)
            began = time.monotonic()
            folder.append(computation.rows())
            seconds = round(time.monotonic() - began, 2)
            outcome = {"finished": now(), "images_seen": 0, "fleet": 1, "seconds": seconds, "sampling_seconds": 0.0}
            folder.finish(outcome)
        on_progress(RunProgress(computation.address, 1, 1))


class _Training:
    """One training under way: its replica, its instruments and its folder."""

    def __init__(
        self,
        config: Run,
        folder: RunFolder,
        start: RunFolder | None,
        execution: Execution,
        on_progress: OnProgress,
        samplers: dict[str, FastDenoiser],
        side_by_side: int,
    ) -> None:
        config.check()
        folder.write_config(config)
        self.config, self.folder, self.on_progress = config, folder, on_progress
        self.samplers = samplers  # shared by runs of the same architecture that train side by side
        self.side_by_side = side_by_side  # how many runs share the device, and so its seconds
        self.execution = _execution_of(folder, execution, config.world.origin())
        torch.set_num_threads(self.execution.threads)
        on_progress(RunProgress(config.address, 0, config.training.total, text="making data and instruments"))
        pool = config.pool(self.execution.device)
        model, order = config.model(), config.seeds.order
        if start is not None and not folder.checkpoint_path.exists():
            model.load_state_dict(_weights_of(start))
        self.replica = Replica(model, pool, config.schedule, config.training, order, self.execution)
        calibration = config.calibration(self.execution.device)
        resumed = folder.checkpoint_path.exists()
        if resumed:
            self.replica.restore(load_tensors(folder.checkpoint_path, folder.address, like=self.replica.tensors()))
            folder.drop_rows_after(self.replica.images_seen - 1)  # a milestone at the checkpoint is observed again
        else:
            folder.drop_rows_after(-1)
            folder.append(_rows(0, calibration))
        self.began, self.sampling_seconds = time.monotonic(), 0.0
        folder.log({"event": "resumed" if resumed else "started", "images_seen": self.replica.images_seen})

    def trainee(self) -> Trainee:
        """What the training loop needs of this run."""
        milestones, seen = self.config.evaluation.milestones(self.config.training), self.replica.images_seen
        if seen in milestones:  # the last process may have stopped while it observed
            self._observe(seen)
        return Trainee(self.replica, milestones, self._observe, self._save, self._report)

    def _report(self, seen: int, loss: float) -> None:
        self.on_progress(RunProgress(self.config.address, seen, self.config.training.total, loss))

    def _observe(self, seen: int) -> None:
        """Measure the model as it is now; at the last milestone, finish the run."""
        began = time.monotonic()
        config, evaluation = self.config, self.config.evaluation
        sampler = self._sampler()
        rows, images = self._measure(sampler, evaluation.sampler, "")
        if evaluation.audit and seen in evaluation.chosen(config.training, evaluation.audit.points):
            rows += self._measure(sampler, evaluation.audit.sampler, evaluation.audit.name)[0]
        rows += config.further(sampler, self.replica.weights(), seen)
        if seen in evaluation.chosen(config.training, evaluation.sheet_points):
            kept = images[:, : evaluation.sheet_images]  # [groups, k, C, H, W]
            pixels = ((kept + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
            save_tensors(self.folder.samples_path(seen), {"images": pixels}, self.folder.address)
        self.folder.append(_rows(seen, rows))
        self.sampling_seconds += time.monotonic() - began
        self._finish_at(seen)

    def _measure(self, sampler: FastDenoiser, how: SamplerConfig, suffix: str) -> tuple[list[Row], Tensor]:
        return self.config.measure(sampler.denoise, how, torch.device(self.execution.device), suffix)

    def _sampler(self) -> FastDenoiser:
        key = self.config.architecture
        if key not in self.samplers:
            self.samplers[key] = FastDenoiser(self.config.model(), self.execution)
        self.samplers[key].load(self.replica.weights())
        return self.samplers[key]

    def _save(self) -> None:
        save_tensors(self.folder.checkpoint_path, self.replica.tensors(), self.folder.address)
        seconds = {"seconds": time.monotonic() - self.began, "sampling_seconds": self.sampling_seconds}
        self.folder.log({"event": "saved", "images_seen": self.replica.images_seen, **seconds})

    def _finish_at(self, seen: int) -> None:
        """At the end of training: the last checkpoint, the averaged weights, then the mark that the run is done."""
        if seen < self.config.training.total:
            return
        self._save()
        save_tensors(self.folder.weights_path, self.replica.weights(), self.folder.address)
        parameters = sum(p.numel() for p in self.replica.parameters)
        outcome = {"finished": now(), "images_seen": seen, "parameters": parameters, "fleet": self.side_by_side}
        self.folder.finish(outcome | _cost(self.folder))


def _weights_of(start: RunFolder) -> dict[str, Tensor]:
    if not start.done or not start.weights_path.exists():
        todo = f"move {start.path} away and give the command again" if start.done else "complete that run first"
        raise RunFailed(f"run {start.address}, which this one starts from, has no last weights: {todo}")
    return load_tensors(start.weights_path, start.address)


def _execution_of(folder: RunFolder, asked: Execution, origin: dict[str, str]) -> Execution:
    """A resumed run keeps the execution it began with on the same kind of device: same arithmetic, same bits."""
    if folder.provenance_path.exists():
        try:
            began = Execution(**folder.provenance()["execution"])
        except (KeyError, TypeError):
            raise RunFailed(f"{folder.provenance_path} does not say how the run began: move the folder away") from None
        if began.device.partition(":")[0] == asked.device.partition(":")[0]:
            return replace(began, device=asked.device, sharing=asked.sharing)
    torch.set_num_threads(asked.threads)
    write_json(folder.provenance_path, {"started": now(), **describe_machine(asked), **origin})
    return asked


def _cost(folder: RunFolder) -> dict[str, float]:
    """Seconds of training and of sampling, over all processes that worked on this run."""
    total, sampling, last = 0.0, 0.0, {"seconds": 0.0, "sampling_seconds": 0.0}
    for event in [*read_rows(folder.log_path), {"event": "started"}]:
        if event["event"] == "saved":
            last = event
        elif event["event"] in ("started", "resumed"):
            total, sampling = total + last["seconds"], sampling + last["sampling_seconds"]
            last = {"seconds": 0.0, "sampling_seconds": 0.0}
    return {"seconds": round(total, 2), "sampling_seconds": round(sampling, 2)}


def _rows(seen: int, rows: Sequence[Row]) -> list[Row]:
    return [{"images_seen": seen, **row} for row in rows]
