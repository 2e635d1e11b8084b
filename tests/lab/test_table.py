from pathlib import Path

import polars as pl
import pytest

from recombine.errors import RunFailed, UserError
from recombine.lab.experiment import PlannedRun
from recombine.lab.store import Store
from recombine.lab.table import (
    at_end,
    at_ends,
    collect,
    columns_of,
    curves,
    distances,
    make_table,
    mean_curves,
    read_table,
    select,
    write_table,
)
from support.tables import rows_of

COLUMNS = {"node": str, "distance": int, "sigma": float, "held_out": bool}
NAMES = ["arm", "seed", "images_seen", "node", "distance", "sigma", "held_out", "instrument", "value"]
KINDS = [pl.String, pl.Int64, pl.Int64, pl.String, pl.Int64, pl.Float64, pl.Boolean, pl.String, pl.Float64]


def planned(arm: str, seed: int, address: str) -> PlannedRun:
    """A run that has an address and nothing else."""

    class Addressed:
        def __init__(self) -> None:
            self.address = address

    return PlannedRun(arm, seed, Addressed())  # type: ignore[arg-type]


RUNS = [planned("main", 0, "a" * 12), planned("main", 1, "b" * 12)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path)
    for address, shift in (("a" * 12, 0.0), ("b" * 12, 0.5)):
        run = store.run(address)
        run.path.mkdir(parents=True)
        run.config_path.write_text("{}")
        run.append(
            {"images_seen": seen, "node": node, "distance": d, "instrument": "reader.product", "value": value + shift}
            for seen, value in ((128, 0.25), (64, 0))  # out of order, and an int among the floats
            for node, d in (("00", 0), ("11", 1))
        )
        run.append([{"instrument": "calibration.probe", "value": None}])
    return store


def test_a_table_has_the_columns_of_its_experiment_typed(store: Store) -> None:
    table = collect(store, RUNS, COLUMNS, {"main": {"sigma": 2, "held_out": True}})
    assert table.columns == NAMES
    assert table.dtypes == KINDS
    assert table.row(1) == ("main", 0, 128, "11", 1, 2.0, True, "reader.product", 0.25)
    assert table.row(4) == ("main", 0, None, None, None, 2.0, True, "calibration.probe", None)
    assert columns_of(table) == COLUMNS


def test_one_run_may_play_in_two_arms_and_an_absent_one_is_an_error(store: Store) -> None:
    twice = collect(store, [planned("x", 0, "a" * 12), planned("y", 0, "a" * 12)], COLUMNS)
    assert twice["arm"].value_counts().sort("arm").rows() == [("x", 5), ("y", 5)]
    with pytest.raises(UserError, match=r"c{12}.*seed 7"):
        collect(store, [*RUNS, planned("main", 7, "c" * 12)], COLUMNS)


def test_no_runs_give_an_empty_table_of_the_same_kind(store: Store) -> None:
    table = collect(store, [], COLUMNS)
    assert (table.height, table.dtypes) == (0, KINDS)
    assert curves(table, "reader.product", "node") == mean_curves(table, "i") == at_end(table, "i") == {}
    assert distances(table) == {}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ('{"value": 1.0}', "names its instrument"),
        ('{"instrument": "i", "value": 1.0, "radius": 2}', "no column 'radius'"),
        ('{"instrument": "i", "value": 1.0, "distance": 0.5}', "'distance' holds whole numbers"),
        ('{"instrument": "i", "value": 1.0, "node": 11}', "'node' holds str"),
        ('{"instrument": "i", "value": 1.0, "held_out": 1}', "'held_out' holds bool"),
        ('{"instrument": "i", "value": "many"}', "'value' holds float"),
    ],
)
def test_a_row_that_does_not_fit_names_its_file_and_line(store: Store, row: str, complaint: str) -> None:
    with open(store.run("a" * 12).measurements_path, "a") as file:
        file.write(row + "\n")
    with pytest.raises(RunFailed, match=rf"measurements.jsonl, line 6: .*{complaint}"):
        collect(store, RUNS, COLUMNS)


def test_parquet_round_trip(store: Store, tmp_path: Path) -> None:
    table = collect(store, RUNS, COLUMNS)
    write_table(tmp_path / "deep" / "table.parquet", table)
    assert read_table(tmp_path / "deep" / "table.parquet").equals(table)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["table.parquet"]


def test_absent_damaged_and_foreign_tables_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    with pytest.raises(UserError, match="run the experiment first"):
        read_table(path)
    path.write_bytes(b"PAR1 no")
    with pytest.raises(RunFailed, match="Parquet"):
        read_table(path)
    for foreign in (pl.DataFrame({"x": [1]}), make_table([], COLUMNS).with_columns(when=pl.lit(0).cast(pl.Date))):
        foreign.write_parquet(path)
        with pytest.raises(RunFailed, match="columns"):
            read_table(path)


def test_rows_are_selected_by_value_by_any_of_several_and_where_empty() -> None:
    table = make_table(rows_of(1.0, arm="a", seed=0, node=["00", "01", None], instrument=["i", "j"]), COLUMNS)
    assert select(table, "i", node="01").height == 1
    assert select(table, ("i", "j"), node=("00", "01")).height == 4
    assert select(table, "j", node=None).height == 1
    assert select(table, node="11").height == 0


def test_curves_ascend_and_leave_out_what_was_not_read(store: Store) -> None:
    table = collect(store, RUNS, COLUMNS)
    found = curves(table, "reader.product", "node")
    assert set(found) == {(0, "00"), (0, "11"), (1, "00"), (1, "11")}
    seen, value = found[1, "11"]
    assert (seen.tolist(), value.tolist()) == ([64, 128], [0.5, 0.75])
    assert set(curves(table, "reader.product", "node", node="11")) == {(0, "11"), (1, "11")}
    assert curves(table, "calibration.probe") == {}
    assert distances(table) == {"00": 0, "11": 1}


def test_curves_go_over_any_column() -> None:
    table = make_table(
        rows_of(lambda row: 10 * row["sigma"], arm="a", seed=0, sigma=[2.0, 0.5], instrument="i"), COLUMNS
    )
    at, value = curves(table, "i", over="sigma")[(0,)]
    assert (at.tolist(), value.tolist()) == ([0.5, 2.0], [5.0, 20.0])


def test_the_end_is_the_last_measurement_of_each_seed() -> None:
    """A seed that ended earlier, a node that is empty at the end, other instruments."""
    values = {(0, 100): 9.0, (0, 300): 0.2, (1, 100): 9.0, (1, 200): 0.5}
    rows = rows_of(
        lambda row: values.get((row["seed"], row["images_seen"])),
        arm="main", seed=[0, 1], images_seen=[100, 200, 300], node=["00", "11"], instrument="i",
    )  # fmt: skip
    rows += rows_of(7.0, arm="main", seed=0, images_seen=400, node="11", instrument="j")
    rows.append({"arm": "main", "seed": 0, "images_seen": 300, "node": "01", "instrument": "i", "value": None})
    rows.append({"arm": "main", "seed": 0, "images_seen": 100, "node": "01", "instrument": "i", "value": 5.0})
    table = make_table(rows, COLUMNS)
    assert at_end(table, "i", node="11") == pytest.approx({0: 0.2, 1: 0.5})
    assert at_end(table, "i", arm="main") == pytest.approx({0: 0.2, 1: 0.5})
    assert at_end(table, "i", node="01") == {}  # absent at the end: what was read before does not count
    assert at_end(table, "k") == {}


def test_of_a_computation_all_rows_are_the_end() -> None:
    table = make_table(rows_of(lambda row: row["sigma"], arm="a", seed=3, sigma=[1.0, 2.0], instrument="i"), COLUMNS)
    assert at_end(table, "i") == {3: 1.5}


def test_a_mean_curve_is_where_all_of_its_parts_were_read() -> None:
    parts = {
        (0, "00"): {300: 0.5, 100: 0.1, 200: 0.3}, (0, "11"): {100: 0.3, 300: 1.0}, (0, "01"): {100: 9.0},
        (1, "11"): {100: 0.7},
    }  # fmt: skip
    rows = [
        {"arm": "main", "seed": seed, "images_seen": seen, "node": node, "instrument": "i", "value": value}
        for (seed, node), curve in parts.items()
        for seen, value in curve.items()
    ]
    found = mean_curves(make_table(rows, COLUMNS), "i", "node", node=("00", "11"))
    assert {seed: (at.tolist(), value.tolist()) for seed, (at, value) in found.items()} == {
        0: ([100, 300], pytest.approx([0.2, 0.75])),
        1: ([100], [0.7]),
    }


def test_make_table_refuses_wrong_types_and_unknown_columns() -> None:
    with pytest.raises(TypeError, match="'seed' holds int"):
        make_table([{"arm": "a", "seed": "zero", "instrument": "i", "value": 0.5}], {})
    with pytest.raises(ValueError, match="no column 'node'"):
        make_table([{"arm": "a", "seed": 0, "node": "0", "instrument": "i", "value": 0.5}], {})


def test_ends_by_the_values_of_columns_ascend_and_leave_out_what_was_not_read() -> None:
    rows = [
        {"arm": "a", "seed": 0, "images_seen": seen, "width": width, "instrument": "i", "value": value}
        for width, seen, value in ((2.0, 10, 0.1), (2.0, 20, 0.2), (1.0, 20, 0.3), (None, 20, 0.4), (3.0, 20, None))
    ]
    found = at_ends(make_table(rows, {"width": float}), "i", "width")
    assert found == {1.0: {0: 0.3}, 2.0: {0: 0.2}}
    assert list(found) == [1.0, 2.0]
