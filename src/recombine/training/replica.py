"""One network in training: everything that changes from step to step, and the step that changes it.

The whole step is a function of tensors on the device, the count of images seen among them: it draws its own batch and
noise, so the same lines run eagerly or are captured once as a CUDA graph and replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from pydantic import Field

from recombine import seeds
from recombine.deferred import no_grad
from recombine.diffusion.losses import Weighting
from recombine.diffusion.schedules import Schedule
from recombine.errors import RunFailed
from recombine.settings import Settings
from recombine.training.capture import capture, new_stream
from recombine.training.execution import Execution, avoid_cudnn_attention, compiled_if_possible, expect_many_networks
from recombine.worlds.splits import DrawRows, Pool, draw, rows_of

if TYPE_CHECKING:
    from torch import Tensor

    from recombine.denoisers.network import NetworkDenoiser

EMA_RAMP = 0.05  # the average never reaches back further than this fraction of the training so far

Momentum = Annotated[float, Field(ge=0, lt=1)]


class TrainingConfig(Settings):
    """Optimisation, counted in images seen."""

    images: int = Field(default=500_000, gt=0)
    batch: int = Field(default=128, gt=0)
    rate: float = Field(default=3e-4, gt=0)
    warmup_images: int = Field(default=0, ge=0)
    decay: Literal["constant", "linear", "cosine"] = "linear"
    betas: tuple[Momentum, Momentum] = (0.9, 0.999)
    weight_decay: float = Field(default=0.0, ge=0)
    clip: float | None = Field(default=1.0, gt=0)
    ema_images: int = Field(default=0, ge=0, description="half-life of the weight average in images; 0 = none")
    weighting: Weighting = "simple"
    mask: float = Field(default=0.0, ge=0, lt=1, description="how often each concept is kept from the network")

    @property
    def total(self) -> int:
        """Images, as a whole number of batches."""
        return self.whole(self.images)

    def whole(self, images: float) -> int:
        """The nearest count of images, at least one batch, that is a whole number of batches."""
        return max(1, round(images / self.batch)) * self.batch


class Replica:
    """A model in training with its optimiser, its running average and its place in the stream of images."""

    def __init__(
        self, model: NetworkDenoiser, pool: Pool, schedule: Schedule, config: TrainingConfig, order_seed: int,
        execution: Execution,
    ) -> None:  # fmt: skip
        device = torch.device(execution.device)
        self.config, self.execution, self.pool = config, execution, pool
        self.model = model.to(device)
        if execution.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.parameters: list[Tensor] = [p for p in self.model.parameters() if p.requires_grad]
        # What is averaged: parameters, and the running statistics that belong to them.
        self.tracked = {name: t.detach() for name, t in self.model.state_dict().items() if t.is_floating_point()}
        self.average = {name: t.clone() for name, t in self.tracked.items()} if config.ema_images else self.tracked
        self.images_seen = 0  # on the host; the tensor below is its copy on the device
        self.whole = True  # False in the middle of a step, when the state must not be saved
        self.seen = torch.zeros((), dtype=torch.int64, device=device)
        self.loss_sum = torch.zeros((), dtype=torch.float32, device=device)
        self.rate = torch.tensor(config.rate, dtype=torch.float32, device=device)
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=self.rate, betas=config.betas, weight_decay=config.weight_decay, fused=True,
            capturable=device.type == "cuda",
        )  # fmt: skip
        self._prime_optimizer()
        self._draw_sigma = schedule.drawer(device)
        self._first_key = seeds.fold(order_seed, "order") << 32
        self._offsets = torch.arange(config.batch, device=device)
        self._loss = compiled_loss() if execution.compile else batch_loss
        self._rows = compiled_rows() if execution.compile else rows_of
        if execution.compile:
            expect_many_networks()
        avoid_cudnn_attention()
        # A separate stream, so that replicas run side by side.
        self._side = new_stream() if device.type == "cuda" else None
        self._replay: Callable[[], None] | None = None
        self._loss_since = 0

    def prepare(self) -> None:
        """Capture the step where graphs are used; before any other work is under way on the device."""
        if self._side is not None:
            torch.cuda.synchronize()
        if self.execution.graphs and self._replay is None:
            self._replay = compiled_if_possible(self._capture, self.execution.compile, self._give_up_compiling)

    def step(self) -> None:
        """One batch: draw, loss, gradient, update, average."""
        self.whole = False
        with torch.cuda.stream(self._side):
            if self._replay is not None:
                self._replay()
            else:
                self._step()
        self.images_seen += self.config.batch
        self._loss_since += 1
        self.whole = True

    def _step(self) -> None:
        config = self.config
        key = self._first_key + self.seen + self._offsets  # [batch]
        self.rate.copy_(config.rate * _rate_factor(config, self.seen))
        with torch.autocast(self.seen.device.type, torch.bfloat16, enabled=self.execution.precision == "bfloat16"):
            drawn = draw_batch(self.pool, key, config.mask, self._rows)
            loss = self._loss(self.model, *drawn, key, self._draw_sigma, config.weighting)
        torch.autograd.backward(loss)
        if config.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters, config.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.seen += config.batch
        self.loss_sum += loss.detach()
        if config.ema_images:
            self._update_average()

    @no_grad
    def _update_average(self) -> None:
        """Exponential average with a half-life of ema_images that grows with training (Karras et al. 2022)."""
        half_life = (EMA_RAMP * self.seen).clamp(min=1.0, max=self.config.ema_images)
        keep = 0.5 ** (self.config.batch / half_life)
        average, tracked = list(self.average.values()), list(self.tracked.values())
        torch._foreach_mul_(average, keep)
        torch._foreach_add_(average, list(torch._foreach_mul(tracked, 1.0 - keep)))

    def take_loss(self) -> float:
        """Mean loss since the last call; a loss that is not finite stops the run with the last checkpoint intact."""
        self._settle()
        mean = self.loss_sum.item() / max(1, self._loss_since)
        with torch.cuda.stream(self._side):  # in the order of the steps
            self.loss_sum.zero_()
        self._loss_since = 0
        if not torch.isfinite(torch.tensor(mean)):
            raise RunFailed(
                f"the loss became {mean} near {self.images_seen:,} images: lower training.rate "
                f"(now {self.config.rate:g}); the last checkpoint is intact"
            )
        return mean

    def tensors(self) -> dict[str, Tensor]:
        """Everything that a later step depends on, by name: the checkpoint."""
        self._settle()
        state: dict[str, Tensor] = {f"model.{k}": v for k, v in self.model.state_dict().items()}
        names = [name for name, p in self.model.named_parameters() if p.requires_grad]
        for name, parameter in zip(names, self.parameters, strict=True):
            adam = self.optimizer.state[parameter]
            state |= {f"adam.{part}.{name}": adam[part] for part in ("step", "exp_avg", "exp_avg_sq")}
        if self.config.ema_images:
            state |= {f"average.{name}": tensor for name, tensor in self.average.items()}
        return state | {"seen": self.seen}

    def restore(self, saved: dict[str, Tensor]) -> None:
        """Go on from a checkpoint; tensors keep their place in memory, so captured graphs stay valid."""
        for name, tensor in self.tensors().items():
            tensor.copy_(saved[name])
        self.images_seen = int(self.seen.item())

    def weights(self) -> dict[str, Tensor]:
        """The state of the model that is evaluated: the running average where there is one."""
        self._settle()
        return dict(self.model.state_dict()) | self.average

    def _settle(self) -> None:
        """Wait for the steps under way, so that what is read next is there."""
        if self._side is not None:
            self._side.synchronize()

    def _prime_optimizer(self) -> None:
        """Let Adam make its state now, all zero, so that checkpoints and graphs find it before the first step."""
        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter)
        self.rate.zero_()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        for adam in self.optimizer.state.values():
            for tensor in adam.values():
                tensor.zero_()

    def _give_up_compiling(self) -> None:
        self._loss, self._rows = batch_loss, rows_of

    def _capture(self) -> Callable[[], None]:
        """The whole step as one CUDA graph; what warming up changed is put back."""
        assert self._side is not None
        before = {name: tensor.clone() for name, tensor in self.tensors().items()}
        loss_before = self.loss_sum.clone()
        try:
            replay, _ = capture(self._step, self._side)
        finally:
            for name, tensor in self.tensors().items():
                tensor.copy_(before[name])
            self.loss_sum.copy_(loss_before)
            self.optimizer.zero_grad(set_to_none=True)
            torch.cuda.synchronize()
        return replay


def draw_batch(pool: Pool, key: Tensor, mask: float, draw_rows: DrawRows = rows_of) -> tuple[Tensor, Tensor]:
    """The images and conditions of these keys; where a concept is masked, its numbers are zero.  # [n, C, H, W], [n, K]

    Not part of the loss, so that one compiled loss serves pools of every size.
    """
    images, condition = draw(pool, key, draw_rows)
    if mask:
        kept = seeds.uniform(key, condition.shape[1:], lane=4)[:, pool.owner] >= mask  # one draw for a concept
        condition = condition * kept
    return images, condition


def batch_loss(
    model: NetworkDenoiser, images: Tensor, condition: Tensor, key: Tensor, draw_sigma: Callable[[Tensor], Tensor],
    weighting: Weighting,
) -> Tensor:  # fmt: skip
    """The loss of a batch; its noise levels and its noise follow from the keys."""
    sigma = draw_sigma(seeds.uniform(key, lane=2))  # [n]
    noise = seeds.normal(key, images.shape[1:], lane=3)
    return model.training_loss(images, noise, sigma, condition, key, weighting)


@cache
def compiled_loss() -> Callable[..., Tensor]:
    """`batch_loss`, compiled; one compile serves every replica."""
    return torch.compile(batch_loss, dynamic=False, fullgraph=True)


@cache
def compiled_rows() -> Callable[..., Tensor]:
    """`rows_of`, compiled."""
    return torch.compile(rows_of, dynamic=False, fullgraph=True)


def _rate_factor(config: TrainingConfig, seen: Tensor) -> Tensor:
    """The learning rate at this point of training, as a fraction of `rate`."""
    progress = (seen / config.total).clamp(max=1.0)
    warm = ((seen + config.batch) / max(config.warmup_images, 1)).clamp(max=1.0)
    match config.decay:
        case "constant":
            return warm
        case "linear":
            return warm * (1.0 - progress)
        case "cosine":
            return warm * 0.5 * (1.0 + torch.cos(torch.pi * progress))
