"""Draw images from a finished run: name a node, or concept values, and get a sheet."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from recombine.diffusion.samplers import sample
from recombine.errors import UserError
from recombine.files import write_whole
from recombine.instruments.evaluation import sample_keys
from recombine.lab.config import RunConfig
from recombine.lab.store import RunFolder
from recombine.settings import build
from recombine.training.execution import Execution
from recombine.training.inference import FastDenoiser
from recombine.training.state import load_tensors
from recombine.worlds.base import World

ZOOM = 4


def draw_from_run(run: RunFolder, conditions: Sequence[str] | None, count: int, out: Path) -> Path:
    """Write a PNG with one row of `count` samples for each condition (default: every node)."""
    if not run.done:
        raise UserError(f"run {run.address} is not finished: give its `recombine run` command again, it resumes")
    if count < 1:
        raise UserError(f"--count {count}: ask for at least one image")
    config = build(RunConfig, run.config())
    nodes = [read_node(config.world, text) for text in conditions] if conditions else list(config.world.nodes)
    model = FastDenoiser(config.model(), Execution.plain("cpu", torch.get_num_threads()))
    model.load(load_tensors(run.weights_path, run.address))
    prompt = config.world.condition(config.world.prototype(config.world.digits(nodes))).repeat_interleave(count, 0)
    key = sample_keys(config.seeds.sampling, [config.world.nodes.index(node) for node in nodes], count)
    images = sample(model.denoise, config.evaluation.sampler, config.schedule, config.world.image_shape, prompt, key)
    write_whole(out, _sheet_png(images.reshape(len(nodes), count, *images.shape[1:])))
    return out


def read_node(world: World, text: str) -> str:
    """A node from its digits ("111") or from concept values ("shape=triangle,color=blue,size=small")."""
    if "=" not in text:
        world.digits(text)
        return text
    parts = [part.split("=", 1) for part in text.split(",")]
    values = {part[0].strip(): part[1].strip() for part in parts if len(part) == 2}
    if set(values) != set(world.concepts) or len(parts) != len(world.concepts):
        raise UserError(
            f"--condition {text}: give a value for each of {', '.join(world.concepts)}, as in shape=circle,..."
        )
    digits = ""
    for concept, names in world.concepts.items():
        if values[concept] not in names:
            raise UserError(f"--condition {text}: {concept} is one of {', '.join(names)}")
        digits += str(names.index(values[concept]))
    return digits


def _sheet_png(images: torch.Tensor) -> bytes:
    import io

    from PIL import Image

    rows, columns, channels, height, width = images.shape
    sheet = images.permute(0, 3, 1, 4, 2).reshape(rows * height, columns * width, channels)
    pixels = ((sheet + 1) * 127.5).round().clamp(0, 255).to(torch.uint8).numpy()
    buffer = io.BytesIO()
    Image.fromarray(np.kron(pixels, np.ones((ZOOM, ZOOM, 1), dtype=np.uint8))).save(buffer, format="PNG")
    return buffer.getvalue()
