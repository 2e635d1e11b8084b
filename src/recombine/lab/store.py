"""The store: a plain folder tree that a person can read, and that survives a kill and a copy to another machine.

`runs/<address>/` holds one training, named by the fingerprint of its config;
`experiments/<study>/<experiment>/<budget>/` holds what was made from runs.
Nothing inside is absolute, nothing is pickled, and no finished run is written over.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from recombine.errors import RunFailed, UserError
from recombine.files import append_rows, explained, read_json, read_rows, write_json, write_whole
from recombine.settings import Settings, fingerprint

_ADDRESS = re.compile(r"[0-9a-f]{12}")
_PREFIX = re.compile(r"[0-9a-f]{1,12}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Busy(RunFailed):
    """Another process is writing this run."""


class Store:
    """A folder of runs and experiments; made on the first write."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).expanduser()

    def prepare(self) -> None:
        """Make the root and write to it once, so that a wrong --store is found before any training."""
        with explained(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
        probe = self.root / f".writable.{os.getpid()}"
        write_whole(probe, b"")
        probe.unlink(missing_ok=True)

    def run(self, address: str) -> "RunFolder":
        """The folder of one run, which need not exist yet."""
        if not _ADDRESS.fullmatch(address):
            raise UserError(f"'{address}' is no run address: it has 12 characters out of 0-9 and a-f")
        return RunFolder(self.root / "runs" / address)

    def runs(self) -> Iterator["RunFolder"]:
        """Every run that has a config, in order of address."""
        for address in self._addresses():
            folder = self.run(address)
            if folder.exists:
                yield folder

    def find(self, prefix: str) -> "RunFolder":
        """The one run whose address begins with `prefix`."""
        if not _PREFIX.fullmatch(prefix):
            raise UserError(f"'{prefix}' is no run address: give its first characters, out of 0-9 and a-f")
        found = [run for run in self.runs() if run.address.startswith(prefix)]
        if not found:
            raise UserError(f"no run in {self.root} begins with '{prefix}'; `recombine status` lists them")
        if len(found) > 1:
            listing = ", ".join(run.address for run in found[:5]) + (", ..." if len(found) > 5 else "")
            raise UserError(f"'{prefix}' fits {len(found)} runs ({listing}): give more characters")
        return found[0]

    def experiment(self, study: str, experiment: str, budget: str) -> Path:
        """Where the plan, table, claims, figures and report of one experiment at one budget live."""
        for name in (study, experiment, budget):
            if not _NAME.fullmatch(name):
                raise UserError(f"'{name}' cannot name a folder: use letters, digits, - and _")
        return self.root / "experiments" / study / experiment / budget

    def _addresses(self) -> list[str]:
        folder = self.root / "runs"
        try:
            return sorted(entry.name for entry in os.scandir(folder) if _ADDRESS.fullmatch(entry.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UserError(f"cannot read {folder}: {error.strerror}; choose another folder with --store") from error


@dataclass(frozen=True)
class RunFolder:
    """One run on disk. Its name is the fingerprint of its config."""

    path: Path

    @property
    def address(self) -> str:
        """The fingerprint of its config."""
        return self.path.name

    @property
    def config_path(self) -> Path:
        """Its settings."""
        return self.path / "config.json"

    @property
    def measurements_path(self) -> Path:
        """What was measured, a JSON line each."""
        return self.path / "measurements.jsonl"

    @property
    def checkpoint_path(self) -> Path:
        """Every tensor it takes to go on."""
        return self.path / "checkpoint.safetensors"

    @property
    def weights_path(self) -> Path:
        """The weights that it ended with."""
        return self.path / "weights.safetensors"

    @property
    def log_path(self) -> Path:
        """What happened when, a JSON line each."""
        return self.path / "log.jsonl"

    @property
    def provenance_path(self) -> Path:
        """Where it was made, and with which versions."""
        return self.path / "provenance.json"

    @property
    def done_path(self) -> Path:
        """There once the run is finished; what it cost."""
        return self.path / "done.json"

    def samples_path(self, images_seen: int) -> Path:
        """Where the samples drawn at this moment go; the zeros make a listing run in time."""
        return self.path / "samples" / f"{images_seen:012d}.safetensors"

    @property
    def exists(self) -> bool:
        """Whether it has a config."""
        return self.config_path.is_file()

    @property
    def done(self) -> bool:
        """Whether the run is finished: done.json is written last."""
        return self.done_path.is_file()

    def config(self) -> dict[str, Any]:
        """The stored config, checked against the folder's name."""
        config = read_json(self.config_path, _SET_ASIDE)
        text = json.dumps(config, sort_keys=True, separators=(",", ":"))
        if sha256(text.encode()).hexdigest()[: len(self.address)] != self.address:
            raise RunFailed(f"{self.config_path} does not belong to run {self.address}: {_SET_ASIDE}")
        return config

    def write_config(self, config: Settings) -> None:
        """Store the config of this run; one that is there already is checked and left as it is."""
        if fingerprint(config) != self.address:
            raise ValueError(f"config {fingerprint(config)} given to run {self.address}")
        if self.exists:
            self.config()
        else:
            write_json(self.config_path, config.model_dump(mode="json"))

    def outcome(self) -> dict[str, Any]:
        """What done.json says: cost, images, device."""
        return read_json(self.done_path, _SET_ASIDE)

    def provenance(self) -> dict[str, Any]:
        """What provenance.json says: when and how the run began."""
        return read_json(self.provenance_path, _SET_ASIDE)

    def rows(self) -> list[dict[str, Any]]:
        """All measurements; a last line cut short by a kill is left out, damage before it is an error."""
        path = self.measurements_path
        try:
            rows = read_rows(path)
            lines = len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0
        except ValueError as error:  # not UTF-8
            raise RunFailed(f"{path} is damaged: {_SET_ASIDE}") from error
        if lines > len(rows) + 1:
            raise RunFailed(f"{path} is damaged at line {len(rows) + 1} of {lines}: {_SET_ASIDE}")
        return rows

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add measurements and flush them to disk."""
        rows = list(rows)
        for row in rows:
            if not row.get("instrument") or "value" not in row:
                raise ValueError(f"a measurement has an instrument and a value, not {tuple(row)}")
        if not rows:
            return
        append_rows(self.measurements_path, rows)

    def drop_rows_after(self, images_seen: int) -> int:
        """Keep the measurements up to `images_seen`, where the checkpoint stands; how many went is logged."""
        if self.done:
            raise RunFailed(f"run {self.address} is finished; its measurements stay as they are")
        rows = self.rows()
        kept = [row for row in rows if (row.get("images_seen") or 0) <= images_seen]
        if len(kept) < len(rows) or self._torn():
            self.log({"event": "rows dropped", "after": images_seen, "dropped": len(rows) - len(kept)})
            self._rewrite(kept)
        return len(rows) - len(kept)

    def finish(self, done: Mapping[str, Any]) -> None:
        """Mark the run as finished. The last thing written."""
        if self.done:
            raise RunFailed(f"run {self.address} is finished already; it is not written over")
        write_json(self.done_path, dict(done))

    def log(self, event: Mapping[str, Any]) -> None:
        """Add one time-stamped line to the log."""
        append_rows(self.log_path, [{"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **event}])

    @contextmanager
    def lock(self, wait: bool = True, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold this run alone. The kernel lets go when the process ends, however it ends.

        The lock file stays: removing it would let two processes hold two different files of the same name.
        """
        path = self.path / "lock"
        with explained(path):
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            with explained(path):
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if not wait:
                        holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
                        who = f"run {self.address} is being written by another process (number {holder})"
                        raise Busy(f"{who}: wait for it or stop it") from None
                    if on_wait is not None:
                        on_wait()
                    fcntl.flock(handle, fcntl.LOCK_EX)
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(handle)

    def _torn(self) -> bool:
        """Whether the last line lacks its end."""
        path = self.measurements_path
        if not path.exists() or path.stat().st_size == 0:
            return False
        with open(path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

    def _rewrite(self, rows: list[dict[str, Any]]) -> None:
        write_whole(self.measurements_path, "".join(json.dumps(row) + "\n" for row in rows))


_SET_ASIDE = "move that run's folder out of the store and give the command again to train it anew"
