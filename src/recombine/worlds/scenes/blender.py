"""The reference for the ray caster: the same scenes drawn by Blender's path tracer, Cycles, on the CPU.

A scene is described as CLEVR's JSON describes it. Camera, lamps, reflectances and the strengths of the light are the
ray caster's, so what differs between two pictures is how light travels: here it bounces, mirrors and scatters.
Blender's module `bpy` fits few versions of Python and changes the process that imports it, so it runs in a process of
its own: in this Python, or in the one that RECOMBINE_BLENDER names.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from math import pi
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from recombine.errors import RunFailed, UserError
from recombine.worlds.scenes import blender_worker
from recombine.worlds.scenes.geometry import ASPECT, CAMERA, FOCAL
from recombine.worlds.scenes.layout import COLOURS
from recombine.worlds.scenes.ray_caster import AMBIENT, GROUND, LAMP_SIZES, LAMPS, STRENGTHS
from recombine.worlds.scenes.world import SceneWorld

if TYPE_CHECKING:
    from torch import Tensor

PYTHON_VARIABLE = "RECOMBINE_BLENDER"
# A square lamp of P watts lights what it faces at distance d with P / (pi d^2), and a surface sends 1 / pi of that on.
WATTS = pi**2  # for a strength of 1
SUN_JITTER = (0.0, 0.0, 0.0)
MATERIALS = {  # inputs of Blender's "principled" surface
    "rubber": {"Metallic": 0.0, "Roughness": 0.6, "Specular IOR Level": 0.2},
    "metal": {"Metallic": 0.9, "Roughness": 0.2, "Specular IOR Level": 0.5},
}


def render(descriptions: Sequence[dict[str, Any]], width: int, height: int, samples: int) -> Tensor:
    """Pictures of described scenes, with so many paths a pixel and a denoiser.  # [n, 3, height, width] in [-1, 1]"""
    pictures = _draw(descriptions, width, height, samples, owners=False)  # [n, height, width, 3]
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float().div_(127.5).sub_(1).contiguous()


def owners(descriptions: Sequence[dict[str, Any]], width: int, height: int) -> Tensor:
    """What each pixel's middle shows: 0 the ground, else the object's number from 1.  # [n, height, width] int64"""
    return torch.from_numpy(_draw(descriptions, width, height, 1, owners=True)[..., 0].astype(np.int64))


def _draw(
    descriptions: Sequence[dict[str, Any]], width: int, height: int, samples: int, owners: bool
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The worker's pictures as they are.  # [n, height, width, 3]"""
    from PIL import Image

    if min(width, height, samples) < 1:
        raise UserError(f"a picture of {width} x {height} px with {samples} samples: each must be 1 or more")
    pictures = np.zeros((len(descriptions), height, width, 3), dtype=np.uint8)
    if not len(descriptions):
        return pictures
    with TemporaryDirectory(prefix="recombine-blender-") as folder:
        _work(
            {
                "folder": folder,
                "owners": owners,
                "width": width,
                "height": height,
                "samples": samples,
                "threads": torch.get_num_threads(),
                "aspect": ASPECT,
                "focal": FOCAL,
                "ground": GROUND,
                "sky": 0.0 if owners else AMBIENT,
                "materials": MATERIALS,
                "scenes": _scenes(descriptions),
            }
        )
        for index, picture in enumerate(pictures):
            path = Path(folder, f"{index}.png")
            if not path.is_file():
                raise RunFailed(
                    f"Blender drew {index} of {len(pictures)} scenes and gave no reason: is it Blender, is there room?"
                )
            with Image.open(path) as image:
                picture[:] = np.asarray(image.convert("RGB"))
    return pictures


def _scenes(descriptions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Scenes as the worker wants them: numbers only. They take the ray caster's way in, which checks them."""
    most = max((len(found) for scene in descriptions if isinstance(found := scene.get("objects"), list)), default=1)
    world = SceneWorld(most=max(1, most))
    checked = world.describe(world.from_description(list(descriptions)))
    return [
        {
            "camera": _moved(CAMERA, scene["camera_jitter"]),
            "lamps": [
                {"place": _moved(place, jitter), "size": size, "watts": WATTS * strength}
                for place, jitter, size, strength in zip(
                    LAMPS, [*scene["light_jitter"], SUN_JITTER], LAMP_SIZES, STRENGTHS, strict=True
                )
            ],
            "objects": [
                {
                    "shape": entry["shape"],
                    "place": entry["3d_coords"],
                    "radius": entry["3d_coords"][2],
                    "rotation": entry["rotation"],
                    "material": entry["material"],
                    "colour": [part / 255 for part in COLOURS[entry["color"]]],
                }
                for entry in scene["objects"]
            ],
        }
        for scene in checked
    ]


def _moved(place: Sequence[float], jitter: Sequence[float]) -> list[float]:
    return [here + moved for here, moved in zip(place, jitter, strict=True)]


def _work(job: dict[str, Any]) -> None:
    """Have the worker do this job; what goes wrong there is one line here."""
    python = os.environ.get(PYTHON_VARIABLE) or sys.executable
    command = [python, "-P", blender_worker.__file__]  # -P: its neighbours are not modules to be found by name
    try:
        done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise UserError(f"cannot start {python}, which {PYTHON_VARIABLE} names: {error.strerror}") from error
    if done.returncode == 0:
        return
    said = done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["nothing"]
    if done.returncode == blender_worker.NO_BLENDER:
        raise UserError(
            f"Blender is not installed for {python} ({said[-1]}): make a Python 3.11 of its own with `pip install "
            f"bpy==4.5.*`, and name it in {PYTHON_VARIABLE} (docs/scenes.md)"
        )
    how = f"exit status {done.returncode}"
    if done.returncode < 0:
        how = signal.Signals(-done.returncode).name
    raise RunFailed(f"Blender stopped ({how}) and said: {said[-1]}")
