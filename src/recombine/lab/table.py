"""The tidy table: one typed row for each number that an instrument read, and ways to ask it.

Columns: `arm`, `seed`, `images_seen` (empty where nothing trains), then the experiment's own factor columns with real
names and types, then `instrument` and `value`. Everything that judges or draws reads such a table and nothing else.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recombine.errors import RunFailed, UserError
from recombine.files import write_whole

if TYPE_CHECKING:
    import polars as pl

    from recombine.lab.experiment import PlannedRun
    from recombine.lab.store import Store

FIRST: dict[str, type] = {"arm": str, "seed": int, "images_seen": int}
LAST: dict[str, type] = {"instrument": str, "value": float}
Columns = Mapping[str, type]
"""The factor columns of an experiment: {name: str, int, float or bool}."""
Table: TypeAlias = "pl.DataFrame"
"""For signatures in modules that must not import polars."""
Row = Mapping[str, Any]
Curve = tuple[NDArray[Any], NDArray[np.float64]]
"""Where it was read, ascending (images seen, or another column), and the value there."""


@dataclass(frozen=True)
class Member:
    """One run of an experiment, in the role it plays there."""

    arm: str
    seed: int
    address: str


def collect(
    store: Store, runs: Iterable[PlannedRun], columns: Columns, of_arm: Mapping[str, Row] | None = None
) -> pl.DataFrame:
    """The measurements of these runs as one table; `of_arm` gives what all rows of an arm have in common."""
    rows: list[dict[str, Any]] = []
    for planned in runs:
        run = store.run(planned.address)
        if not run.exists:
            raise UserError(
                f"run {planned.address} (arm {planned.arm}, seed {planned.seed}) is not in {store.root}: "
                "run the experiment first, or copy the run's folder there"
            )
        head = {"arm": planned.arm, "seed": planned.seed, **(of_arm or {}).get(planned.arm, {})}
        for number, row in enumerate(run.rows(), start=1):
            try:
                rows.append(_typed({**head, **row}, columns))
            except (KeyError, TypeError, ValueError) as error:
                raise RunFailed(f"{run.measurements_path}, line {number}: {error}") from error
    return _frame(rows, columns)


def make_table(rows: Iterable[Row], columns: Columns) -> pl.DataFrame:
    """A table of these rows; keys that a row leaves out are empty, keys that no column has are refused."""
    return _frame([_typed(row, columns) for row in rows], columns)


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write the table as Parquet, atomically."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=9)
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
    known = {kind: dtype for dtype, kind in zip(_types().values(), _types(), strict=True)}
    schema = dict(table.schema)
    fixed = all(schema.get(name) == known[kind] for name, kind in (FIRST | LAST).items())
    if not fixed or any(dtype not in known.values() for dtype in schema.values()):
        raise RunFailed(
            f"{path} has other columns than a table of measurements: move it away and make the report again"
        )
    return table


def columns_of(table: pl.DataFrame) -> dict[str, type]:
    """The factor columns of a table, by name and type."""
    kinds = {dtype: kind for kind, dtype in _types().items()}
    return {name: kinds[dtype] for name, dtype in table.schema.items() if name not in FIRST | LAST}


def select(table: pl.DataFrame, instrument: str | Iterable[str] | None = None, **where: Any) -> pl.DataFrame:
    """The rows of an instrument in which columns have these values.

    A value may be a collection, any member of which will do; None asks for rows where the column is empty.
    """
    import polars as pl

    conditions = dict(where) if instrument is None else {"instrument": instrument, **where}
    for name, wanted in conditions.items():
        if wanted is None:
            table = table.filter(pl.col(name).is_null())
        elif isinstance(wanted, Iterable) and not isinstance(wanted, str):
            table = table.filter(pl.col(name).is_in(list(wanted)))
        else:
            table = table.filter(pl.col(name) == wanted)
    return table


def curves(
    table: pl.DataFrame, instrument: str, *by: str, over: str = "images_seen", **where: Any
) -> dict[tuple[Any, ...], Curve]:
    """{(seed, *by): the curve of what the instrument read}, absent values left out."""
    keys = ("seed", *by)
    chosen = select(table, instrument, **where).drop_nulls(["value", over]).sort(*keys, over, maintain_order=True)
    return {
        tuple(part[key][0] for key in keys): (part[over].to_numpy(), part["value"].to_numpy())
        for part in chosen.partition_by(*keys, maintain_order=True)
    }


def mean_curves(
    table: pl.DataFrame, instrument: str, *by: str, over: str = "images_seen", **where: Any
) -> dict[int, Curve]:
    """{seed: the mean of its curves by these columns}, where all of them were read."""
    grouped: dict[int, list[Curve]] = {}
    for (seed, *_), curve in curves(table, instrument, *by, over=over, **where).items():
        grouped.setdefault(seed, []).append(curve)
    means = {}
    for seed, group in grouped.items():
        at = group[0][0]
        for other, _ in group[1:]:
            at = np.intersect1d(at, other)
        means[seed] = at, np.mean([value[np.searchsorted(own, at)] for own, value in group], axis=0)
    return means


def at_end(table: pl.DataFrame, instrument: str, **where: Any) -> dict[int, float]:
    """{seed: what the instrument read at the end of training, the mean of its rows there}.

    Where it read nothing at the end, what it read before does not count. Of computations all rows count.
    """
    import polars as pl

    asked = select(table, instrument, **where)
    last = asked.group_by("seed").agg(pl.col("images_seen").max().alias("last"))
    ends = asked.join(last, on="seed").filter(pl.col("images_seen").eq_missing(pl.col("last"))).drop_nulls("value")
    means = ends.group_by("seed").agg(pl.col("value").mean()).sort("seed")
    return {int(seed): float(value) for seed, value in means.iter_rows()}


def at_ends(table: pl.DataFrame, instrument: str, *by: str, **where: Any) -> dict[Any, dict[int, float]]:
    """{value of a column, or values of several: what `at_end` has there}, ascending, where it has anything."""
    parts = select(table, instrument, **where).drop_nulls(by).partition_by(*by, as_dict=True)
    found = {key if len(by) > 1 else key[0]: at_end(part, instrument) for key, part in sorted(parts.items())}
    return {key: values for key, values in found.items() if values}


def distances(table: pl.DataFrame, **where: Any) -> dict[str, int]:
    """Each node of a concept graph in counting order, with its concept distance to the training set."""
    pairs = select(table, **where).select("node", "distance").drop_nulls().unique().sort("node")
    return {str(node): int(distance) for node, distance in pairs.iter_rows()}


def _typed(row: Row, columns: Columns) -> dict[str, Any]:
    kinds = {**FIRST, **columns, **LAST}
    if unknown := [key for key in row if key not in kinds]:
        raise ValueError(f"the experiment has no column '{unknown[0]}': name it in Experiment.columns")
    if not row.get("instrument"):
        raise KeyError("a measurement names its instrument")
    return {name: _as(kind, row.get(name), name) for name, kind in kinds.items()}


def _as(kind: type, value: Any, name: str) -> Any:
    if value is None:
        return None
    if kind is bool or (kind is str) != isinstance(value, str):
        if type(value) is not kind:
            raise TypeError(f"column '{name}' holds {kind.__name__}, not {value!r}")
        return value
    made = kind(value)
    if kind is int and made != value:
        raise ValueError(f"column '{name}' holds whole numbers, not {value!r}")
    return made


def _frame(rows: Sequence[dict[str, Any]], columns: Columns) -> pl.DataFrame:
    import polars as pl

    types = _types()
    schema = {name: types[kind] for name, kind in {**FIRST, **columns, **LAST}.items()}
    return pl.DataFrame({name: [row[name] for row in rows] for name in schema}, schema=schema)


def _types() -> dict[type, Any]:
    import polars as pl

    return {str: pl.String(), int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean()}
