"""From finished runs to an answer: collect the table, judge the claims, draw the figures, write the report.

Everything here is a pure function of tables and configs in the store, so it can be done again at any time without
training.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recombine.errors import UserError
from recombine.files import write_json
from recombine.lab.claims import judge_all
from recombine.lab.execute.provenance import now
from recombine.lab.experiment import Drawing, Plan
from recombine.lab.report.findings import findings_of
from recombine.lab.report.kit.sheets import sheet_over_time
from recombine.lab.report.kit.style import save_figure
from recombine.lab.report.page import Report, ReportFigure, write_report
from recombine.lab.samples import Samples, read_samples
from recombine.lab.store import Store
from recombine.lab.table import Member, collect, read_table, write_table
from recombine.runs.base import Run
from recombine.settings import Settings, fingerprint


class _Overrides(Settings):
    text: str


def variant(plan: Plan) -> str:
    """The folder of a plan's answer: its budget, and a mark where settings were overridden or arms left out."""
    if not plan.overrides and not plan.arms:
        return plan.budget
    differs = json.dumps(plan.overrides, sort_keys=True) + "".join(f" {arm}" for arm in sorted(plan.arms))
    return f"{plan.budget}-{fingerprint(_Overrides(text=differs), 6)}"


def conclude(plan: Plan, store: Store) -> tuple[list[dict[str, Any]], Path]:
    """Judge, draw and report what is done of this plan; the claims and the path of the report."""
    experiment = plan.experiment
    done = [run for run in plan.runs if store.run(run.address).done]
    if not done:
        raise UserError(f"nothing of {experiment.address} at {plan.budget} is done in {store.root}: run it first")
    folder = store.experiment(experiment.study, experiment.name, variant(plan))
    members = [Member(run.arm, run.seed, run.address) for run in done]
    table = collect(store, done, experiment.columns, experiment.arm_columns({run.arm: run.config for run in done}))
    claims = judge_all(experiment.claims, table, experiment.study, experiment.name, plan.budget)
    write_table(folder / "table.parquet", table)
    write_json(folder / "claims.json", claims)
    write_json(folder / "plan.json", {"experiment": experiment.address, "budget": plan.budget,
                                      "overrides": plan.overrides, "missing": len(plan.runs) - len(done),
                                      "runs": [vars(m) for m in members]})  # fmt: skip
    provenance = gather_provenance(plan, store, members)
    write_json(folder / "provenance.json", provenance)
    figures = draw_figures(plan, store, folder)
    provenance |= {"captions": {figure.name: figure.caption for figure in figures}}
    write_json(folder / "provenance.json", provenance)
    first = done[0].config
    small = _small(plan)
    report = Report(
        title=experiment.address,
        question=experiment.question,
        paper_figure=experiment.figure,
        command=command_of(plan),
        claims=claims,
        figures=figures,
        runs=[{"arm": r.arm, "seed": r.seed, "address": r.address, **store.run(r.address).outcome()} for r in done],
        calibration=[row for row in table.filter(table["instrument"].str.starts_with("calibration.")).to_dicts()
                     if row["arm"] == members[0].arm and row["seed"] == members[0].seed],
        config=first.model_dump(mode="json"),
        provenance=provenance,
        assumptions=experiment.assumptions,
        findings=[] if small else paragraphs(findings_of(experiment, claims, table, provenance)),
        small=small,
    )  # fmt: skip
    return claims, write_report(folder / "report.html", report)


def _small(plan: Plan) -> str:
    """What a page of a run below full, or of changed settings, has to say of itself."""
    if plan.overrides or plan.arms:
        return "Settings or arms differ from the experiment's own: this page does not judge the paper."
    if plan.budget != "full" and not plan.experiment.file:
        return f"A small run ({plan.budget}): it shows the effect, where there is one; it does not judge the paper."
    return ""


def paragraphs(text: str) -> list[str]:
    """Markdown as plain paragraphs, for a page that has no Markdown."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("**", "").replace("`", "")
    parts = (" ".join(part.split()).lstrip("#- ") for part in re.split(r"\n\s*\n|\n(?=- )", plain))
    return [part for part in parts if part]


def draw_figures(plan: Plan, store: Store, folder: Path) -> list[ReportFigure]:
    """Draw every figure of the experiment from its stored table, and the sheet of samples over training."""
    table = read_table(folder / "table.parquet")
    figures = []
    drawn = {} if plan.experiment.draw is None else plan.experiment.draw(table, plan.runs[0].config)
    for name, drawing in drawn.items():
        paths = save_figure(drawing.figure, folder / name)
        figures.append(ReportFigure(name, paths[0], drawing.caption))
    sheets = plan.experiment.sheets or sheet_of_each
    for name, drawing in sheets(_kept_samples(plan, store)).items():
        figures.append(ReportFigure(name, save_figure(drawing.figure, folder / name)[0], drawing.caption))
    return figures


def sheet_of_each(kept: Mapping[str, Samples]) -> dict[str, Drawing]:
    """A sheet for each arm, groups down and moments of training across."""
    return {
        f"samples-{arm}": Drawing(
            sheet_over_time(samples.images, samples.run.groups(), samples.seed),
            f"Samples over training, arm {arm}, seed {samples.seed}: the same noise in every column of a node.",
        )
        for arm, samples in kept.items()
    }


def _kept_samples(plan: Plan, store: Store) -> dict[str, Samples]:
    """Of each arm those of its first run that is done."""
    kept = {}
    for arm in dict.fromkeys(run.arm for run in plan.runs):
        run = next((r for r in plan.runs if r.arm == arm and store.run(r.address).done), None)
        images = {} if run is None else read_samples(store.run(run.address))
        if run is not None and images and isinstance(run.config, Run):
            kept[arm] = Samples(run.config, run.seed, images, store.run(run.address))
    return kept


def gather_provenance(plan: Plan, store: Store, members: Sequence[Member]) -> dict[str, Any]:
    """Device, versions, cost, command and date of the runs behind an answer."""
    started = [store.run(m.address).provenance() for m in members]
    outcomes = [store.run(m.address).outcome() for m in members]
    costs = {m.address: outcome for m, outcome in zip(members, outcomes, strict=True)}.values()  # arms may share a run
    trained = [cost for cost in costs if cost["images_seen"]]
    computed = [cost for cost in costs if not cost["images_seen"]]
    own = [{key: value for key, value in s.items() if key != "started"} for s in started]
    machines = [machine for i, machine in enumerate(own) if machine not in own[:i]]
    return {
        "command": command_of(plan),
        "budget": plan.budget,
        "judged": now(),
        "trained": sorted({o["finished"][:10] for o in outcomes}),
        "machines": machines,
        "runs": len(costs),
        "missing": len({run.address for run in plan.runs} - {member.address for member in members}),
        "images_seen": sum(cost["images_seen"] for cost in costs),
        "device_seconds": _seconds(trained or computed),
        "computing_seconds": _seconds(computed) if trained else 0.0,  # beside the device, on its machine's processor
        "sampling_seconds": round(sum(cost["sampling_seconds"] for cost in costs), 1),
        "members": [
            {**vars(member), "machine": machines.index(machine), "started": start["started"], "outcome": outcome}
            for member, machine, start, outcome in zip(members, own, started, outcomes, strict=True)
        ],
        "configs": {run.arm: run.config.model_dump(mode="json", exclude={"seeds"}) for run in plan.runs},
    }


def _seconds(costs: Sequence[dict[str, Any]]) -> float:
    total: float = sum(cost["seconds"] / cost["fleet"] for cost in costs)
    return round(total, 1)


def command_of(plan: Plan) -> str:
    """The command that makes this again."""
    seeds = len({run.seed for run in plan.runs})
    words = ["recombine", "run", plan.experiment.typed, "--budget", plan.budget, "--seeds", str(seeds)]
    for arm in plan.arms:
        words += ["--arm", arm]
    for key, value in plan.overrides.items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    return shlex.join(words)
