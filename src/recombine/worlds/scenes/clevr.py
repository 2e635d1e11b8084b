"""Real CLEVR (Johnson et al. 2017), as it is distributed or as its generator leaves it: one JSON of scenes, and images.

Nothing is downloaded: a person puts the files into one folder. Images are squashed to a square once and kept beside the
data, in `recombine-cache`. Where an object is in an image comes from CLEVR's own `pixel_coords`: it does not say how
far a camera was moved, so the scene's other numbers cannot say it exactly.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from recombine.errors import UserError
from recombine.worlds.image_cache import Pixels, kept_images
from recombine.worlds.scenes.world import SceneWorld, is_numbers

if TYPE_CHECKING:
    from torch import Tensor

FOLDER_VARIABLE = "RECOMBINE_CLEVR"
BLOCK = 1 << 20  # characters of JSON read at once
LONGEST = 4 * BLOCK  # no scene is as long as this

_BEGIN = re.compile(r'"scenes"\s*:\s*\[')


@dataclass(frozen=True)
class Clevr:
    """Scenes of CLEVR, in the order of their JSON."""

    factors: Tensor  # [n, F] of the world they were read for; how far camera and lamps were moved is 0 if not stated
    centres: Tensor  # [n, most, 2]: across and down, in pixels of the square image
    present: Tensor  # [n, most] bool
    pixels: Pixels  # [n, side, side, 3], mapped from disk
    digest: str  # SHA-256 of the JSON

    def images(self, rows: Tensor) -> Tensor:
        """Images of these rows [m].  # [m, 3, side, side] in [-1, 1]"""
        chosen = torch.from_numpy(self.pixels[rows.cpu().numpy()])
        return chosen.permute(0, 3, 1, 2).float().div_(127.5).sub_(1).contiguous()


def data_folder() -> Path:
    """Where CLEVR is: the folder that RECOMBINE_CLEVR names, else data/clevr under the current one."""
    return Path(os.environ.get(FOLDER_VARIABLE) or "data/clevr").expanduser().absolute()


def read(
    folder: Path, world: SceneWorld, split: Literal["train", "val"] = "train", objects: Collection[int] | None = None
) -> Clevr:
    """Scenes with these numbers of objects (all, if none are named), as a world of so many slots and pixels has them.

    The first call for a size and a choice of numbers makes the resized images; every call checks that JSON, images and
    the array of resized ones still belong together.
    """
    path, pictures = _find(folder, split)
    digest, sizes = _digest(path), _sizes(pictures)
    factors, places, names, kept = [], [], set[str](), list[str]()
    for number, scene in enumerate(_scenes(path)):
        if (name := scene["image_filename"]) in names:
            raise _unlike(path, f"scene {number} has the image_filename {name}, which an earlier scene has")
        names.add(name)
        if objects is None or len(scene["objects"]) in objects:
            kept.append(name)
            factors.append(_factors(path, number, scene, world))
            places.append(torch.tensor([entry["pixel_coords"][:2] for entry in scene["objects"]]).reshape(-1, 2))
    _match(path, pictures, names, set(sizes))
    if not kept:
        raise UserError(f"{path} has no scene of {sorted(objects or ())} objects: ask for other numbers")
    frame, _ = _square(pictures / kept[0], world.pixels)
    listing = "\n".join(f"{name} {sizes[name]}" for name in kept)
    made_from = {
        "count": len(kept),
        "pixels": world.pixels,
        "frame": list(frame),
        "scenes_sha256": digest,
        "images_sha256": hashlib.sha256(listing.encode()).hexdigest(),  # names and bytes of each
    }
    centres = _centres(path, kept, places, frame, world)
    stem = f"clevr-{split}-{world.pixels}" + "".join(f"-{count}" for count in sorted(set(objects or ())))
    images = kept_images(folder, stem, made_from, lambda: _squashed(pictures, kept, made_from), "CLEVR", hashed=True)
    numbers = torch.stack(factors)
    return Clevr(numbers, centres, world.scene(numbers).present, images, digest)


def _scenes(path: Path) -> Iterator[dict[str, Any]]:
    """The scenes of a JSON one after another; the file is never in memory as a whole."""
    decoder = json.JSONDecoder()
    text, number = "", 0
    with open(path, encoding="utf-8", errors="replace") as file:
        while not (begin := _BEGIN.search(text)):
            block = file.read(BLOCK)
            if not block or len(text) > LONGEST:
                raise _unlike(path, "it has no list of scenes")
            text += block
        place, between = begin.end(), ""  # what stands before a scene, blanks aside
        while True:
            start, place = place, _skipped(text, place)
            between += "".join(text[start:place].split())
            if text.startswith("]", place):
                break
            try:
                scene, place = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                text, place, block = text[place:], 0, file.read(BLOCK)
                if not block:
                    raise _unlike(path, f"it is cut short after {number} scenes") from None
                if len(text) > LONGEST:
                    raise _unlike(path, f"scene {number} is no JSON") from None
                text += block
                continue
            if between != ("," if number else ""):
                raise _unlike(path, f"commas before scene {number} are missing or too many")
            yield _checked(path, number, scene)
            number, between = number + 1, ""
        if between:
            raise _unlike(path, f"there is a comma after its {number} scenes")
        try:
            json.loads('{"scenes": [' + text[place:] + file.read())
        except (ValueError, RecursionError):
            raise _unlike(path, f"it is cut short after {number} scenes, or goes on after its end") from None


def _skipped(text: str, place: int) -> int:
    """Where the next thing of a list begins."""
    while text[place : place + 1] in (" ", "\t", "\r", "\n", ","):
        place += 1
    return place


def _checked(path: Path, number: int, scene: Any) -> dict[str, Any]:
    """A scene that has all that is read of it."""
    entries = scene.get("objects") if isinstance(scene, dict) else None
    whole = isinstance(entries, list) and "image_filename" in scene and all(_is_placed(entry) for entry in entries)
    if not whole:
        raise _unlike(path, f"scene {number} lacks an image_filename, or objects' 3d_coords, rotation or pixel_coords")
    name = scene["image_filename"]
    if not isinstance(name, str) or name != Path(name).name or not name.endswith(".png"):
        raise _unlike(path, f"scene {number} has the image_filename {name!r}, which is no name of a PNG")
    return dict(scene)


def _is_placed(entry: Any) -> bool:
    """Whether an object says in numbers where it is, in space and in the image."""
    return (
        isinstance(entry, dict)
        and is_numbers(entry.get("3d_coords"), 3)
        and is_numbers([entry.get("rotation")], 1)
        and (is_numbers(entry.get("pixel_coords"), 3) or is_numbers(entry.get("pixel_coords"), 2))
    )


def _factors(path: Path, number: int, scene: dict[str, Any], world: SceneWorld) -> Tensor:
    """One scene's numbers.  # [F]"""
    try:
        return world.from_description([scene])[0]
    except UserError as error:
        raise UserError(f"{path}: scene {number}{str(error).removeprefix('scene 0')}") from None


def _match(path: Path, pictures: Path, named: set[str], there: set[str]) -> None:
    """Every scene has its image and every image its scene."""
    if absent := sorted(named - there):
        raise UserError(
            f"{pictures} lacks {len(absent)} of the {len(named)} images that {path} names, first {absent[0]}: "
            "put all images there, or correct image_filename"
        )
    if extra := sorted(there - named):
        raise UserError(
            f"{path} has {len(named)} scenes and {pictures} {len(there)} images, first without a scene {extra[0]}: "
            "put the JSON there that was made with these images"
        )


def _centres(path: Path, names: list[str], places: list[Tensor], frame: tuple[int, int], world: SceneWorld) -> Tensor:
    """CLEVR's pixel_coords in the square image.  # [n, most, 2]"""
    centres = torch.zeros(len(names), world.most, 2)
    for row, here in enumerate(places):
        centres[row, : len(here)] = here
        if ((here < 0) | (here > torch.tensor(frame))).any():
            raise UserError(
                f"{path}: pixel_coords of {names[row]} lie outside of its {frame[0]} x {frame[1]} pixels: "
                "put the images there that this JSON was made with"
            )
    return centres * (world.pixels / torch.tensor(frame))


def _squashed(pictures: Path, names: list[str], made_from: dict[str, Any]) -> Iterator[Pixels]:
    """Each image at its new size.  # [pixels, pixels, 3]"""
    for name in names:
        size, square = _square(pictures / name, made_from["pixels"])
        if list(size) != made_from["frame"]:
            raise UserError(f"{pictures / name} is {size[0]} x {size[1]} pixels, and others are not: use one size")
        yield square


def _square(path: Path, pixels: int) -> tuple[tuple[int, int], Pixels]:
    """Width and height of an image, and the image averaged down to a square."""
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as image:
            square = image.convert("RGB").resize((pixels, pixels), Image.Resampling.BICUBIC)
            return image.size, np.asarray(square)
    except Exception as error:  # a damaged file can raise almost anything
        raise UserError(f"{path} is damaged or no PNG: get it once more") from error


def _find(folder: Path, split: str) -> tuple[Path, Path]:
    """The JSON of scenes and the folder of its images: CLEVR's own, else one JSON beside a folder `images`."""
    unpacked = folder / "CLEVR_v1.0"  # CLEVR's zip has a folder in it
    root = unpacked if unpacked.is_dir() else folder
    path, pictures = root / "scenes" / f"CLEVR_{split}_scenes.json", root / "images" / split
    if not path.is_file():
        made, pictures = sorted(root.glob("*scenes*.json")), root / "images"
        path = made[0] if len(made) == 1 else path
    if path.is_file() and pictures.is_dir():
        return path, pictures
    raise UserError(
        f"CLEVR is not in {folder}: put scenes/CLEVR_{split}_scenes.json and images/{split} there, from CLEVR_v1.0.zip "
        f"(cs.stanford.edu/people/jcjohns/clevr), or one scenes JSON and a folder images from CLEVR's generator, or "
        f"set {FOLDER_VARIABLE} to the folder that has them"
    )


def _sizes(pictures: Path) -> dict[str, int]:
    """Every PNG of a folder, and how many bytes it has."""
    try:
        return {path.name: path.stat().st_size for path in pictures.iterdir() if path.name.endswith(".png")}
    except OSError as error:
        raise UserError(f"cannot read {error.filename or pictures}: {error.strerror}") from error


def _digest(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _unlike(path: Path, why: str) -> UserError:
    return UserError(f"{path} is not as CLEVR's scenes are: {why}; put the original file there")
