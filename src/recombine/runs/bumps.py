"""The config of a run on labels in a plane: where bumps or stripes may be seen, and where they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import torch
from pydantic import Field, field_validator

from recombine.denoisers.configs import UNetConfig
from recombine.diffusion.samplers import SamplerConfig
from recombine.errors import UserError
from recombine.instruments.bumps.band_evaluation import BandEvaluation
from recombine.instruments.bumps.centres import find_centres
from recombine.instruments.bumps.evaluation import (
    ALL,
    BumpEvaluation,
    LatticeEvaluation,
    accuracy_rows,
    grouped,
    measure_bumps,
)
from recombine.instruments.bumps.place_evaluation import EachPlaceEvaluation
from recombine.instruments.bumps.subject import Sampling, Subject, place_keys
from recombine.instruments.bumps.torus_evaluation import TorusEvaluation
from recombine.instruments.observation import Denoise, Row, drawn_by
from recombine.runs.base import Run
from recombine.training.inference import FastDenoiser
from recombine.worlds.bumps import BumpsWorld
from recombine.worlds.holdouts import LabelSplit
from recombine.worlds.splits import Pool

if TYPE_CHECKING:
    from torch import Tensor

Kinds = Annotated[
    BumpEvaluation | LatticeEvaluation | TorusEvaluation | BandEvaluation | EachPlaceEvaluation,
    Field(discriminator="kind"),
]


class BumpsRun(Run):
    """One training on bumps or stripes, complete."""

    world: BumpsWorld = BumpsWorld()
    split: LabelSplit = LabelSplit()
    network: UNetConfig = UNetConfig()
    evaluation: Kinds = BumpEvaluation()

    @field_validator("evaluation", mode="before")
    @classmethod
    def _bumps_unless_said(cls, evaluation: Any) -> Any:
        return {"kind": "bumps", **evaluation} if isinstance(evaluation, dict) else evaluation

    def check(self) -> None:
        self.split.check(self.world)
        self.evaluation.check(self.split)
        super().check()

    def pool(self, device: str) -> Pool:
        return self.split.pool(self.world, self.seeds.data, device)

    def calibration(self, device: str) -> list[Row]:
        """The instruments on the exact image of every label that is asked for."""
        labels = self.evaluation.places(self.world)
        found = find_centres(self.world.render(labels.to(device)), self.world)
        regions = grouped("region", self.split.region(self.world, labels), ALL)
        rows = accuracy_rows(found, labels - self.world.margin, self.world, regions)
        return [row | {"instrument": f"calibration.{row['instrument']}"} for row in rows]

    def measure(
        self, denoise: Denoise, how: SamplerConfig, device: torch.device, suffix: str
    ) -> tuple[list[Row], Tensor]:
        trained = self.split.labels(self.world, self.seeds.data) if self.split.share < 1 else None
        sampling = Sampling(denoise, how, self.schedule, self.world, self.seeds.sampling, device)
        rows, sheets = measure_bumps(sampling, self.evaluation, self.split, trained)
        return drawn_by(rows, suffix), sheets

    def further(self, sampler: FastDenoiser, weights: Mapping[str, Tensor], seen: int) -> list[Row]:
        subject = Subject(sampler, self.schedule, self.world, self.split, self.seeds, self.training, seen, self.model)
        return self.evaluation.further(subject)

    def groups(self) -> list[str]:
        return list(dict.fromkeys(self.split.region(self.world, self.evaluation.places(self.world))))

    def prompts(self, asked: Sequence[str] | None, count: int) -> tuple[Tensor, Tensor]:
        middle = (self.world.pixels + 1) / 2
        labels = torch.tensor([read_place(text) for text in asked or [f"x={middle},y={middle}"]], dtype=torch.float64)
        labels = labels + self.world.margin
        keys = [place_keys(self.world, labels, self.seeds.sampling, number) for number in range(count)]
        return self.world.condition(labels).repeat_interleave(count, 0), torch.stack(keys, 1).flatten()


def read_place(text: str) -> tuple[float, float]:
    """A place in pixels of the image from "x=16,y=8.5"."""
    try:
        values = {name.strip(): float(value) for name, value in (part.split("=") for part in text.split(","))}
        return values["x"], values["y"]
    except (ValueError, KeyError):
        raise UserError(f"--condition {text}: give a place in pixels of the image, as in x=16,y=8.5") from None
