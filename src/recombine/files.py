"""Files that survive a kill: whole or not at all, flushed to disk, with a full disk said in one line."""

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recombine.errors import RunFailed


def write_whole(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data` atomically: temporary file beside it, fsync, rename, fsync of the folder."""
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with open(temporary, "wb") as file:
                file.write(data.encode() if isinstance(data, str) else data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically."""
    write_whole(path, json.dumps(value, indent=2) + "\n")


def read_json(path: Path, advice: str) -> dict[str, Any]:
    """The JSON object in `path`; a missing or damaged file is one line that ends with `advice`."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunFailed(f"{path} is missing: {advice}") from None
    except OSError as error:
        raise RunFailed(f"cannot read {path}: {error.strerror}") from error
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise RunFailed(f"{path} is not readable as JSON: {advice}")
    return value


def append_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append JSON lines and flush them to disk; a last line cut short by a kill is cut off first."""
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and (content := path.read_bytes()) and not content.endswith(b"\n"):
            os.truncate(path, content.rfind(b"\n") + 1)  # a line cut short by a kill
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))
            file.flush()
            os.fsync(file.fileno())


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The JSON lines of `path`; a last line cut short by a kill is left out."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an operating-system error at `path` into one line that says what to do."""
    try:
        yield
    except OSError as error:
        advice = {
            errno.ENOSPC: "the disk is full: free some space and give the same command again, it resumes",
            errno.EDQUOT: "the disk quota is used up: free some space and give the same command again, it resumes",
            errno.EACCES: "no permission to write there: choose another folder with --store",
            errno.EPERM: "no permission to write there: choose another folder with --store",
            errno.EROFS: "that file system is read-only: choose another folder with --store",
            errno.ENOTDIR: "part of that path is a file, not a folder: choose another folder with --store",
            errno.EEXIST: "part of that path is a file, not a folder: choose another folder with --store",
        }.get(error.errno or 0, os.strerror(error.errno or 0))
        raise RunFailed(f"cannot write {path}: {advice}") from error


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
