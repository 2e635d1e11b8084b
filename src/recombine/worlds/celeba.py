"""CelebA as it is distributed (Liu et al. 2015): its lists of attributes and partitions, and its aligned images.

Nothing is downloaded: a person puts the files into one folder. Aligned images are 178 wide and 218 high; the centre
178 x 178 is resized once and kept beside the data, in `recombine-cache`. From then on only that and the lists are read.
"""

import hashlib
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from recombine.errors import UserError
from recombine.worlds.image_cache import Pixels, kept_images

FOLDER_VARIABLE = "RECOMBINE_CELEBA"
ATTRIBUTES, PARTITIONS, IMAGES = "list_attr_celeba", "list_eval_partition", "img_align_celeba"
ATTRIBUTE_COUNT = 40
SIZE = (178, 218)  # width, height
CENTRE = (0, 20, 178, 198)  # left, top, right, bottom: the centre square

_NAME = re.compile(r"[0-9]{6}\.jpg")


@dataclass(frozen=True)
class Attributes:
    """Some columns of the attribute file, row by row as it has them."""

    names: tuple[str, ...]  # of images
    values: NDArray[np.bool_]  # [images, attributes asked for]
    digest: str  # SHA-256 of the whole file


def data_folder() -> Path:
    """Where CelebA is: the folder that RECOMBINE_CELEBA names, else data/celeba under the current one."""
    return Path(os.environ.get(FOLDER_VARIABLE) or "data/celeba").expanduser().absolute()


def read_attributes(folder: Path, wanted: Sequence[str]) -> Attributes:
    """The attributes `wanted` of every image: True where the file says 1, False where it says -1."""
    path = _list_path(folder, ATTRIBUTES)
    content = _read(path)
    lines = _fields(path, content)
    _, first = next(lines, (1, []))
    stated = None
    if path.suffix == ".txt":
        if len(first) != 1 or not first[0].isdecimal():
            raise _unlike(path, "line 1 should be the number of images")
        stated = int(first[0])
        _, first = next(lines, (2, []))
    header = first[1:] if path.suffix == ".csv" else first
    if len(header) != ATTRIBUTE_COUNT:
        raise _unlike(path, f"its header names {len(header)} attributes, not {ATTRIBUTE_COUNT}")
    if absent := [attribute for attribute in wanted if attribute not in header]:
        raise _unlike(path, f"its header has no {absent[0]}")
    columns = [header.index(attribute) + 1 for attribute in wanted]
    rows: dict[str, list[bool]] = {}
    for number, fields in lines:
        if len(fields) != ATTRIBUTE_COUNT + 1:
            raise _unlike(path, f"line {number} has {len(fields) - 1} values, not {ATTRIBUTE_COUNT}")
        if not _NAME.fullmatch(fields[0]) or fields[0] in rows:
            raise _unlike(path, f"line {number} should begin with a new image name such as 000001.jpg")
        if not {"1", "-1"}.issuperset(fields[1:]):
            raise _unlike(path, f"line {number} has a value that is neither 1 nor -1")
        rows[fields[0]] = [fields[column] == "1" for column in columns]
    if not rows:
        raise _unlike(path, "it lists no image")
    if stated not in (None, len(rows)):
        raise _unlike(path, f"it lists {len(rows)} images, and its first line says {stated}")
    values = np.array(list(rows.values()), dtype=np.bool_)
    return Attributes(tuple(rows), values, hashlib.sha256(content).hexdigest())


def read_partitions(folder: Path, names: Sequence[str]) -> NDArray[np.int64]:
    """The partition of each named image: 0 train, 1 valid, 2 test.  # [names]"""
    path = _list_path(folder, PARTITIONS)
    lines = _fields(path, _read(path))
    if path.suffix == ".csv":
        next(lines, None)  # image_id,partition
    partitions: dict[str, int] = {}
    for number, fields in lines:
        if len(fields) != 2 or not _NAME.fullmatch(fields[0]) or fields[1] not in ("0", "1", "2"):
            raise _unlike(path, f"line {number} should be an image name and 0, 1 or 2")
        partitions[fields[0]] = int(fields[1])
    if absent := [name for name in names if name not in partitions]:
        raise _unlike(path, f"it lacks {absent[0]}, which {ATTRIBUTES} has")
    return np.array([partitions[name] for name in names], dtype=np.int64)


def resized_images(folder: Path, names: Sequence[str], digest: str, pixels: int) -> Pixels:
    """The named images, centre square resized to `pixels`, mapped from disk.  # [names, pixels, pixels, 3]

    The first call makes them. The record is written last and names what the array was made from: an array without it,
    or made from another attribute file (`digest`), is made again.
    """
    wanted = {
        "count": len(names),
        "pixels": pixels,
        "crop": list(CENTRE),
        "attributes_sha256": digest,
        "first_image": names[0],
        "last_image": names[-1],
        "images_sha256": hashlib.sha256("\n".join(names).encode()).hexdigest(),
    }
    return kept_images(folder, f"faces-{pixels}", wanted, lambda: _resize_all(folder, names, pixels), "CelebA")


def _resize_all(folder: Path, names: Sequence[str], pixels: int) -> Iterator[Pixels]:
    with _opened(folder) as (place, present, read):
        absent = [name for name in names if name not in present]
        if absent:
            raise UserError(
                f"{place} lacks {len(absent)} of the {len(names)} images that are needed, first {absent[0]}: "
                f"get {IMAGES}.zip again, whole"
            )
        for name in names:
            try:
                image = _resize(read(name), pixels)
            except Exception as error:  # a damaged file can raise almost anything
                size = f"aligned JPEG of {SIZE[0]} x {SIZE[1]} pixels"
                raise UserError(f"{name} in {place} is damaged or no {size}: get {IMAGES}.zip again") from error
            yield image


def _resize(data: bytes, pixels: int) -> Pixels:
    """The centre square, averaged down with Pillow's antialiased bicubic filter.  # [pixels, pixels, 3]"""
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
        if image.size != SIZE:
            raise ValueError(f"an image of {image.size}")
        square = image.convert("RGB").crop(CENTRE)
    return np.asarray(square.resize((pixels, pixels), Image.Resampling.BICUBIC))


@contextmanager
def _opened(folder: Path) -> Iterator[tuple[Path, set[str], Callable[[str], bytes]]]:
    """Where the images are (a folder, or else the zip), the names that are there, and how to read one."""
    archive, nested = folder / f"{IMAGES}.zip", folder / IMAGES / IMAGES  # Kaggle's has a folder in the folder
    place = nested if nested.is_dir() else folder / IMAGES
    if place.is_dir():
        yield place, _names_in(place), lambda name: (place / name).read_bytes()
        return
    if not archive.is_file():
        raise _missing(folder)
    try:
        file = ZipFile(archive)
    except (BadZipFile, OSError) as error:
        raise UserError(f"{archive} is damaged or cut short: get it again") from error
    with file:
        members = file.namelist()
        if outside := [member for member in members if _leaves_root(member)]:
            raise UserError(f"{archive} has a member outside its root, {outside[0]!r}: get CelebA's own zip")
        present = {member.removeprefix(f"{IMAGES}/") for member in members if member.startswith(f"{IMAGES}/")}
        yield archive, present, lambda name: file.read(f"{IMAGES}/{name}")


def _names_in(place: Path) -> set[str]:
    try:
        return set(os.listdir(place))
    except OSError as error:
        raise UserError(f"cannot read {place}: {error.strerror}") from error


def _leaves_root(member: str) -> bool:
    """Whether a path in a zip is absolute, on a drive of its own, or goes upwards."""
    parts = re.split(r"[/\\]", member)
    return not parts[0] or ":" in parts[0] or ".." in parts


def _list_path(folder: Path, name: str) -> Path:
    path = _find_list(folder, name)
    if path is None:
        raise _missing(folder)
    return path


def _find_list(folder: Path, name: str) -> Path | None:
    """CelebA's own text file, or else Kaggle's table."""
    paths = (folder / f"{name}.txt", folder / f"{name}.csv")
    return next((path for path in paths if path.is_file()), None)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _fields(path: Path, content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each line that has any; separated by spaces, or by commas in a .csv."""
    text = content.decode("utf-8-sig", errors="replace")
    for number, line in enumerate(io.StringIO(text), start=1):
        fields = (line.replace(",", " ") if path.suffix == ".csv" else line).split()
        if fields:
            yield number, fields


def _unlike(path: Path, why: str) -> UserError:
    return UserError(f"{path} is not as CelebA distributes it: {why}; put the original file there")


def _missing(folder: Path) -> UserError:
    """What is not in the folder, and where to get it."""
    pictures = (folder / IMAGES).is_dir() or (folder / f"{IMAGES}.zip").is_file()
    lists = [f"{name}.txt" for name in (ATTRIBUTES, PARTITIONS) if _find_list(folder, name) is None]
    files = [*([] if pictures else [f"{IMAGES}.zip (or the folder {IMAGES}/ unpacked from it)"]), *lists]
    return UserError(
        f"CelebA is not complete in {folder}: put {', '.join(files)} there, from the CelebA page "
        f"(mmlab.ie.cuhk.edu.hk/projects/CelebA.html, 'Align&Cropped Images' with its attributes and partitions), "
        f"or set {FOLDER_VARIABLE} to the folder that has them"
    )
