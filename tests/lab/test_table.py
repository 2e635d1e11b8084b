from pathlib import Path

import polars as pl
import pytest

from recombine.errors import RunFailed, UserError
from recombine.lab.store import Store
from recombine.lab.table import (
    COLUMNS,
    Member,
    at_end,
    collect,
    curves,
    distances,
    group_curves,
    make_table,
    read_table,
    write_table,
)

KINDS = [pl.String, pl.String, pl.String, pl.Int64, pl.Int64, pl.String, pl.Int64, pl.String, pl.Float64]


def stored(tmp_path: Path) -> Store:
    store = Store(tmp_path)
    for address, shift in (("a" * 12, 0.0), ("b" * 12, 0.5)):
        run = store.run(address)
        run.path.mkdir(parents=True)
        run.config_path.write_text("{}")
        run.append(
            [
                {
                    "images_seen": seen,
                    "node": node,
                    "distance": d,
                    "instrument": "reader.product",
                    "value": value + shift,
                }
                for seen, value in ((128, 0.25), (64, 0))  # out of order, and an int among the floats
                for node, d in (("00", 0), ("11", 1))
            ]
        )
        calibration = {"node": "blank", "distance": None, "instrument": "calibration.probe", "value": None}
        run.append([{"images_seen": 0, **calibration}])
    return store


MEMBERS = [Member("main", 0, "a" * 12), Member("main", 1, "b" * 12)]


def test_collect_is_tidy_and_typed(tmp_path: Path) -> None:
    table = collect(stored(tmp_path), "s", "e", MEMBERS)
    assert tuple(table.columns) == COLUMNS
    assert table.dtypes == KINDS
    assert table.height == 10
    assert table.row(1) == ("s", "e", "main", 0, 128, "11", 1, "reader.product", 0.25)
    assert table.filter(pl.col("node") == "blank")["distance"].to_list() == [None, None]


def test_one_run_may_play_in_two_arms_and_an_absent_one_is_an_error(tmp_path: Path) -> None:
    store = stored(tmp_path)
    twice = collect(store, "s", "e", [Member("x", 0, "a" * 12), Member("y", 0, "a" * 12)])
    assert twice["arm"].value_counts().sort("arm").rows() == [("x", 5), ("y", 5)]
    with pytest.raises(UserError, match=r"c{12}.*seed 7"):
        collect(store, "s", "e", [*MEMBERS, Member("main", 7, "c" * 12)])


def test_no_members_give_an_empty_table_of_the_same_kind(tmp_path: Path) -> None:
    table = collect(stored(tmp_path), "s", "e", [])
    assert table.height == 0
    assert table.dtypes == KINDS
    assert curves(table, "reader.product", "main") == {}
    assert distances(table, "main") == {}


def test_a_row_that_is_no_measurement_names_its_file_and_line(tmp_path: Path) -> None:
    store = stored(tmp_path)
    with open(store.run("a" * 12).measurements_path, "a") as file:
        file.write('{"images_seen": "many"}\n')
    with pytest.raises(RunFailed, match=r"measurements.jsonl, line 6"):
        collect(store, "s", "e", MEMBERS)


def test_parquet_round_trip(tmp_path: Path) -> None:
    table = collect(stored(tmp_path), "s", "e", MEMBERS)
    write_table(tmp_path / "deep" / "table.parquet", table)
    assert read_table(tmp_path / "deep" / "table.parquet").equals(table)
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["table.parquet"]


def test_absent_damaged_and_foreign_tables_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    with pytest.raises(UserError, match="run the experiment first"):
        read_table(path)
    path.write_bytes(b"PAR1 no")
    with pytest.raises(RunFailed, match="Parquet"):
        read_table(path)
    pl.DataFrame({"x": [1]}).write_parquet(path)
    with pytest.raises(RunFailed, match="columns"):
        read_table(path)


def test_curves_are_sorted_and_keyed_by_seed_and_node(tmp_path: Path) -> None:
    table = collect(stored(tmp_path), "s", "e", MEMBERS)
    found = curves(table, "reader.product", "main")
    assert set(found) == {(0, "00"), (0, "11"), (1, "00"), (1, "11")}
    seen, value = found[1, "11"]
    assert seen.tolist() == [64, 128]
    assert value.tolist() == [0.5, 0.75]
    assert set(curves(table, "reader.product", "main", node="11")) == {(0, "11"), (1, "11")}
    assert curves(table, "reader.product", "other") == {}
    assert curves(table, "calibration.probe", "main") == {}  # nulls are no measurements
    assert distances(table, "main") == {"00": 0, "11": 1}


def test_the_end_is_the_last_reading_of_each_seed_averaged_over_nodes() -> None:
    """Readings out of order, a seed that ended earlier, a node that was not asked for, other arms and instruments."""
    ends = {(0, "00"): 0.2, (0, "11"): 0.6, (0, "01"): 0.9, (1, "00"): 0.5, (1, "11"): 1.0}
    rows = [
        ("s", "e", arm, seed, seen, node, 0, instrument, value + shift)
        for (seed, node), end in ends.items()
        for arm, instrument, shift in (("main", "i", 0.0), ("other", "i", -5.0), ("main", "j", 5.0))
        for seen, value in ((300 - 100 * seed, end), (100, 7.0), (150, 8.0))
    ]
    table = make_table(rows)
    assert at_end(table, "i", "main", ("00", "11")) == pytest.approx({0: 0.4, 1: 0.75})
    assert at_end(table, "i", "main", {"01"}) == pytest.approx({0: 0.9})  # seed 1 has no such node
    assert at_end(table, "i", "other", ["11"]) == pytest.approx({0: -4.4, 1: -4.0})
    assert at_end(table, "j", "main", ("11",)) == pytest.approx({0: 5.6, 1: 6.0})
    for nothing in (
        at_end(table, "k", "main", ("11",)),
        at_end(table, "i", "main", ("10",)),
        at_end(table, "i", "none", ("11",)),
        at_end(make_table([]), "i", "main", ("11",)),
    ):
        assert nothing == {}


def test_a_group_has_one_curve_a_seed_where_all_its_nodes_were_read() -> None:
    readings = {
        (0, "00"): {300: 0.5, 100: 0.1, 200: 0.3}, (0, "11"): {100: 0.3, 300: 1.0}, (0, "01"): {100: 9.0, 300: 9.0},
        (1, "11"): {100: 0.7},
    }  # fmt: skip
    table = make_table(
        [
            ("s", "e", "main", seed, seen, node, 0, "i", value)
            for (seed, node), curve in readings.items()
            for seen, value in curve.items()
        ]
    )
    (first, means), (second, alone) = group_curves(table, "i", "main", ("00", "11"))
    assert (first.tolist(), means.tolist()) == ([100, 300], pytest.approx([0.2, 0.75]))
    assert (second.tolist(), alone.tolist()) == ([100], [0.7])
    assert group_curves(table, "i", "other", ("00", "11")) == group_curves(table, "i", "main", ()) == []


def test_make_table_refuses_wrong_types() -> None:
    with pytest.raises((TypeError, pl.exceptions.PolarsError)):
        make_table([("s", "e", "a", "not a seed", 1, "0", 0, "i", 0.5)])
