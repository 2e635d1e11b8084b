"""Resized images of a collection that a person brought, kept beside it: made once, by one process, whole or not."""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recombine.errors import RunFailed
from recombine.files import write_json

FOLDER = "recombine-cache"
DIGEST = "array_sha256"

Pixels = NDArray[np.uint8]


def kept_images(
    folder: Path,
    stem: str,
    made_from: dict[str, Any],  # says all that the images depend on; "count" and "pixels" among it
    images: Callable[[], Iterator[Pixels]],
    whose: str,
    hashed: bool = False,  # whether each read goes over the whole array
) -> Pixels:
    """The images, mapped from disk; made where they are not there, not whole or made from something else.

    # [count, pixels, pixels, 3]
    """
    place = folder / FOLDER
    array, record = place / f"{stem}.npy", place / f"{stem}.json"
    found = _mapped(array, record, made_from, hashed)
    if found is None:
        with _writing(place, whose):
            found = _mapped(array, record, made_from, hashed)  # made by another process while this one waited?
            if found is None:
                _write(array, record, made_from, images(), hashed)
                found = _mapped(array, record, made_from, hashed)
    if found is None:
        raise RunFailed(f"{array} cannot be read back: check that disk, then give the same command again")
    return found


def _shape(made_from: dict[str, Any]) -> tuple[int, int, int, int]:
    return made_from["count"], made_from["pixels"], made_from["pixels"], 3


def _mapped(array: Path, record: Path, made_from: dict[str, Any], hashed: bool) -> Pixels | None:
    """The array on disk, if it is whole and made from what is wanted."""
    try:
        wanted = {**made_from, DIGEST: _digest(array)} if hashed else made_from
        if json.loads(record.read_text(encoding="utf-8")) != wanted:
            return None
        images: Pixels = np.load(array, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return images if images.shape == _shape(made_from) and images.dtype == np.uint8 else None


def _write(array: Path, record: Path, made_from: dict[str, Any], images: Iterator[Pixels], hashed: bool) -> None:
    """Write image by image under another name, then rename; the record, which makes the array valid, comes last."""
    part = array.with_suffix(".part")
    try:
        with open(part, "wb") as file:
            header = {"descr": "|u1", "fortran_order": False, "shape": _shape(made_from)}
            np.lib.format.write_array_header_1_0(file, header)
            for image in images:
                file.write(image.tobytes())
            file.flush()
            os.fsync(file.fileno())
        digest = {DIGEST: _digest(part)} if hashed else {}
        record.unlink(missing_ok=True)
        os.replace(part, array)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    write_json(record, {**made_from, **digest})


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _writing(place: Path, whose: str) -> Iterator[None]:
    """One process at a time makes arrays; the others wait and find them made."""
    try:
        place.mkdir(exist_ok=True)
        with open(place / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise RunFailed(
            f"cannot write {place}: {error.strerror}; {whose}'s resized images are kept there, so make the folder "
            f"writable and leave space, then give the same command again"
        ) from error
