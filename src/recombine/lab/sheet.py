"""Draw images from a finished run: name a node, or concept values, and get a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from recombine.diffusion.samplers import sample
from recombine.errors import UserError
from recombine.files import write_whole
from recombine.lab.samples import trained_model
from recombine.lab.store import RunFolder
from recombine.runs.kinds import read_run
from recombine.training.execution import Execution
from recombine.training.inference import FastDenoiser

ZOOM = 4


def draw_from_run(run: RunFolder, conditions: Sequence[str] | None, count: int, out: Path) -> Path:
    """Write a PNG with one row of `count` samples for each condition (default: every node)."""
    check_drawable(run)
    if out.suffix.lower() != ".png" or out.is_dir():
        raise UserError(f"--out {out}: give the name of a .png file")
    if count < 1:
        raise UserError(f"--count {count}: ask for at least one image")
    config = read_run(run.config())
    model = FastDenoiser(trained_model(config, run), Execution.plain("cpu", torch.get_num_threads()))
    prompt, key = config.prompts(conditions, count)
    images = sample(model.denoise, config.evaluation.sampler, config.schedule, config.world.image_shape, prompt, key)
    write_whole(out, _sheet_png(images.reshape(-1, count, *images.shape[1:])))
    return out


def check_drawable(run: RunFolder) -> None:
    """Refuse, in one line, a run that no image can be drawn from."""
    if not run.done:
        raise UserError(f"run {run.address} is not finished: give its `recombine run` command again, it resumes")
    if not run.weights_path.exists():
        raise UserError(
            f"run {run.address} has no weights: it is a computation, or was imported; train it in another store"
        )


def _sheet_png(images: torch.Tensor) -> bytes:
    import io

    from PIL import Image

    rows, columns, channels, height, width = images.shape
    if channels == 1:
        images, channels = images.expand(-1, -1, 3, -1, -1), 3
    sheet = images.permute(0, 3, 1, 4, 2).reshape(rows * height, columns * width, channels)
    pixels = ((sheet + 1) * 127.5).round().clamp(0, 255).to(torch.uint8).numpy()
    buffer = io.BytesIO()
    Image.fromarray(np.kron(pixels, np.ones((ZOOM, ZOOM, 1), dtype=np.uint8))).save(buffer, format="PNG")
    return buffer.getvalue()
