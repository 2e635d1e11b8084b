"""The tidy table of an experiment: one row for each measured number, from which claims and figures are pure functions.

Polars is imported where it is used, so that a machine that only trains does not need it.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recombine.errors import RunFailed, UserError
from recombine.files import write_whole
from recombine.lab.store import ROW_KEYS, RunFolder, Store

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("study", "experiment", "arm", "seed", "images_seen", "node", "distance", "instrument", "value")

Curve = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Images seen, ascending, and the value there."""


@dataclass(frozen=True)
class Member:
    """One run of an experiment, in the role it plays there."""

    arm: str
    seed: int
    address: str


def collect(store: Store, study: str, experiment: str, members: Sequence[Member]) -> pl.DataFrame:
    """The measurements of these runs as one tidy table, in the order of the members."""
    rows: list[tuple[Any, ...]] = []
    for member in members:
        run = store.run(member.address)
        if not run.exists:
            raise UserError(
                f"{study}/{experiment} needs run {member.address} (arm {member.arm}, seed {member.seed}), which is "
                f"not in {store.root}: run the experiment first, or copy the run's folder there"
            )
        head = (study, experiment, member.arm, member.seed)
        rows += [head + _measured(run, number, row) for number, row in enumerate(run.rows(), start=1)]
    return make_table(rows)


def make_table(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """A table out of rows in the order of COLUMNS."""
    import polars as pl

    return pl.DataFrame(rows, schema=_schema(), orient="row")


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write the table as Parquet, atomically."""
    buffer = io.BytesIO()
    table.select(COLUMNS).write_parquet(buffer)
    write_whole(path, buffer.getvalue())


def read_table(path: Path) -> pl.DataFrame:
    """Read a table that `write_table` wrote."""
    import polars as pl

    if not path.is_file():
        raise UserError(f"no table at {path}: run the experiment first")
    try:
        table = pl.read_parquet(io.BytesIO(path.read_bytes()))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RunFailed(f"{path} is not readable as Parquet: move it away and make the report again") from error
    if dict(table.schema) != _schema():
        raise RunFailed(
            f"{path} has other columns than a table of measurements: move it away and make the report again"
        )
    return table


def curves(table: pl.DataFrame, instrument: str, arm: str, node: str | None = None) -> dict[tuple[int, str], Curve]:
    """For each (seed, node): images seen, ascending, and what the instrument read. Absent values are left out."""
    import polars as pl

    chosen = table.filter((pl.col("instrument") == instrument) & (pl.col("arm") == arm)).drop_nulls("value")
    if node is not None:
        chosen = chosen.filter(pl.col("node") == node)
    chosen = chosen.sort("seed", "node", "images_seen", maintain_order=True)
    return {
        (int(part["seed"][0]), str(part["node"][0])): (part["images_seen"].to_numpy(), part["value"].to_numpy())
        for part in chosen.partition_by("seed", "node", maintain_order=True)
    }


def group_curves(table: pl.DataFrame, instrument: str, arm: str, nodes: Collection[str]) -> list[Curve]:
    """One curve a seed: what the instrument read, the mean over these nodes, where all of them were read."""
    by_seed: dict[int, list[Curve]] = {}
    for (seed, node), curve in curves(table, instrument, arm).items():
        if node in nodes:
            by_seed.setdefault(seed, []).append(curve)
    means = []
    for group in by_seed.values():
        seen = group[0][0]
        for other, _ in group[1:]:
            seen = np.intersect1d(seen, other)
        values = np.mean([value[np.searchsorted(at, seen)] for at, value in group], axis=0)
        means.append((seen, values))
    return means


def at_end(table: pl.DataFrame, instrument: str, arm: str, nodes: Collection[str]) -> dict[int, float]:
    """For each seed: what the instrument read at the end of training, the mean over these nodes.

    Where it read nothing at the end, what it read before does not count.
    """
    import polars as pl

    asked = table.filter((pl.col("instrument") == instrument) & (pl.col("arm") == arm))
    last = {int(seed): at for seed, at in asked.group_by("seed").agg(pl.col("images_seen").max()).iter_rows()}
    found: dict[int, list[float]] = {}
    for (seed, node), (seen, values) in curves(asked, instrument, arm).items():
        if node in nodes and seen[-1] == last[seed]:
            found.setdefault(seed, []).append(float(values[-1]))
    return {seed: sum(values) / len(values) for seed, values in found.items()}


def distances(table: pl.DataFrame, arm: str) -> dict[str, int]:
    """Each node of the arm in counting order, with its concept distance to the training set."""
    import polars as pl

    pairs = table.filter(pl.col("arm") == arm).select("node", "distance").drop_nulls().unique().sort("node")
    return {str(node): int(distance) for node, distance in pairs.iter_rows()}


def _measured(run: RunFolder, number: int, row: dict[str, Any]) -> tuple[Any, ...]:
    try:
        seen, node, distance, instrument, value = (row[key] for key in ROW_KEYS)
        return (
            int(seen),
            str(node),
            None if distance is None else int(distance),
            str(instrument),
            None if value is None else float(value),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RunFailed(f"{run.measurements_path}, line {number}: not a measurement ({row})") from error


def _schema() -> dict[str, Any]:
    import polars as pl

    kinds = (pl.String, pl.String, pl.String, pl.Int64, pl.Int64, pl.String, pl.Int64, pl.String, pl.Float64)
    return {name: kind() for name, kind in zip(COLUMNS, kinds, strict=True)}
