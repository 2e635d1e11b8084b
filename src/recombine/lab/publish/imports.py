"""Published runs into a store: they count as done there, so that more seeds or arms can be added to them.

Evidence holds what every run measured and what it cost, not its weights or samples: an imported run is judged and
drawn again, and an experiment that was published half done goes on on another machine. A run that starts from the
weights of an imported one needs that one trained again.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recombine.errors import UserError
from recombine.files import read_json, write_json
from recombine.lab.experiment import Plan, PlannedRun
from recombine.lab.store import RunFolder, Store
from recombine.lab.table import read_table
from recombine.runs.base import Run

if TYPE_CHECKING:
    import polars as pl


def import_published(plan: Plan, results: Path, store: Store) -> tuple[int, int]:
    """Write the published runs of this plan into the store; how many are now there, and how many do not belong to it:
    they were made with other settings, or with more seeds.
    """
    experiment = plan.experiment
    folder = results / experiment.study / experiment.name
    if not folder.is_dir():
        raise UserError(f"nothing of {experiment.address} is published in {results}: there is nothing to import")
    source = read_json(folder / "provenance.json", "make it again with `recombine report --publish`")
    table = read_table(folder / "table.parquet")
    planned = {run.address: run for run in plan.runs}
    shared = experiment.arm_columns({run.arm: run.config for run in plan.runs})
    members = [member for member in source["members"] if member["address"] in planned]
    for member in _with_costs(members, source, planned):
        run, kept = store.run(member["address"]), planned[member["address"]]
        with run.lock():
            if not run.done:
                rows = _rows(table, member, shared.get(member["arm"], ()))
                _write(run, kept, member, source["machines"][member["machine"]], rows)
    return len(members), len(source["members"]) - len(members)


def _with_costs(
    members: list[dict[str, Any]], source: dict[str, Any], planned: dict[str, PlannedRun]
) -> list[dict[str, Any]]:
    """Members with what each cost; evidence that says it of all together alone is shared out evenly."""
    even = {
        "finished": f"{source['trained'][-1]}T00:00:00Z",
        "fleet": 1,
        "seconds": round(source["device_seconds"] / source["runs"], 2),
        "sampling_seconds": round(source["sampling_seconds"] / source["runs"], 2),
    }
    return [
        {"machine": 0, "started": even["finished"],
         "outcome": {"images_seen": _images(planned[member["address"]]), **even}, **member}
        for member in members
    ]  # fmt: skip


def _images(planned: PlannedRun) -> int:
    return planned.config.total if isinstance(planned.config, Run) else 0


def _rows(table: pl.DataFrame, member: dict[str, Any], of_arm: Collection[str]) -> list[dict[str, Any]]:
    """What the run measured, less what all rows of its arm share: that follows from its config."""
    import polars as pl

    own = table.filter((pl.col("arm") == member["arm"]) & (pl.col("seed") == member["seed"]))
    rows = own.drop("arm", "seed", *of_arm).to_dicts()
    return [{key: value for key, value in row.items() if value is not None or key == "value"} for row in rows]


def _write(
    run: RunFolder, planned: PlannedRun, member: dict[str, Any], machine: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    """The folder as training left it, but for what was not published; what a run had begun here is dropped."""
    run.write_config(planned.config)
    write_json(run.provenance_path, {"started": member["started"], **machine})
    run.drop_rows_after(-1)
    run.append(rows)
    run.log({"event": "imported"})
    run.finish(member["outcome"])
