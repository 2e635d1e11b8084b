"""Commands that judge, draw and publish: claims, compare, figure, report, scoreboard, import."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from recombine.commands.common import (
    claims_of_store,
    conclude_all,
    of_study,
    plan_of,
    print_claims,
    print_json,
    results_folder,
    store_of,
)
from recombine.errors import UserError


def show_claims(options: argparse.Namespace) -> None:
    """Verdicts of what this store holds, or with --results of the committed evidence."""
    from recombine.lab.claims import read_results

    claims = read_results(results_folder()) if options.results else claims_of_store(options, "*")
    claims = of_study(claims, options.study)
    if options.json:
        print_json(claims)
        return
    print_claims(claims)


def compare(options: argparse.Namespace) -> None:
    """Verdicts of this store beside those of the committed evidence; with --publish, keep them as its replication."""
    from recombine.lab.claims import read_results
    from recombine.lab.publish.compare import pair_claims, summaries, verdict_text

    replicated = of_study(claims_of_store(options, "full"), options.study)
    pairs = pair_claims(replicated, read_results(results_folder()))
    if options.publish and pairs:
        _publish_replications(dict.fromkeys(pair.experiment for pair in pairs), options)
    if options.json:
        print_json(
            [{"committed": pair.committed, "replicated": pair.replicated, "judged": pair.judged} for pair in pairs]
        )
        return
    if not pairs:
        raise UserError(f"no claim in {options.store} was judged at full, as the committed evidence is: run one first")
    for pair in pairs:
        if pair.judged and not pair.same:
            print(f"{pair.experiment} {pair.replicated['claim']}: {pair.replicated['says']}")
            print(f"  {verdict_text(pair.committed)}; replication: {verdict_text(pair.replicated)}")
    print("\n".join(summaries(pairs)))


def _publish_replications(addresses: Iterable[str], options: argparse.Namespace) -> None:
    from recombine.lab.experiment import find_experiment
    from recombine.lab.publish.pages import write_experiment_page
    from recombine.lab.publish.replication import publish_replications
    from recombine.studies import EXPERIMENTS

    results = results_folder()
    experiments = [find_experiment(EXPERIMENTS, address) for address in addresses]
    publish_replications(experiments, store_of(options), results)
    for experiment in experiments:
        write_experiment_page(experiment, results / experiment.study / experiment.name)


def redraw(options: argparse.Namespace) -> None:
    """Draw the figures again from the stored table."""
    from recombine.lab.report.conclude import draw_figures, variant

    plan, store = plan_of(options), store_of(options)
    experiment = plan.experiment
    folder = store.experiment(experiment.study, experiment.name, variant(plan))
    for figure in draw_figures(plan, store, folder):
        print(figure.path)


def report(options: argparse.Namespace) -> None:
    """Judge and report again from what the store holds; with --publish, commit it; with --results, renew what is."""
    from recombine.lab.publish.evidence import publish

    if options.results:
        if options.only or options.arm or options.set or options.seeds or options.budget or options.publish:
            raise UserError("report --results renews what is committed as it is: give no other option with it")
        _renew(options.address)
        return
    if options.address is None:
        raise UserError("name the experiment to report, or give --results to renew all committed evidence")
    plan, store = plan_of(options), store_of(options)
    conclude_all([plan], store, options)
    if options.publish:
        print(f"evidence: {publish(plan, store, results_folder())}")
        _write_scoreboard()


def _renew(address: str | None) -> None:
    """Judge and draw committed evidence again: of one experiment, of a study, or all of it."""
    from recombine.lab.experiment import find_experiment
    from recombine.lab.publish.evidence import renew
    from recombine.studies import EXPERIMENTS

    results = results_folder()
    published = [each for each in EXPERIMENTS if (results / each / "claims.json").exists()]
    chosen = [each for each in published if address in (None, each, each.partition("/")[0])]
    if not chosen and address is not None:
        find_experiment(EXPERIMENTS, address)
        raise UserError(f"nothing of {address} is published in {results}")
    for each in chosen:
        claims = renew(EXPERIMENTS[each], results)
        if len(chosen) == 1:
            print_claims(claims)
        else:
            print(f"{each}: {len(claims)} claims judged")
    _write_scoreboard()


def _write_scoreboard() -> None:
    from recombine.lab.publish.scoreboard import write_scoreboard
    from recombine.studies import EXPERIMENTS, study_folders

    write_scoreboard(results_folder(), EXPERIMENTS, study_folders())


def show_scoreboard(options: argparse.Namespace) -> None:
    """What the papers say beside what came out here, figure by figure; with --write, renew results/README.md."""
    from recombine.lab.publish.scoreboard import scoreboard
    from recombine.studies import EXPERIMENTS, study_folders

    rows = scoreboard(results_folder(), EXPERIMENTS, study_folders())
    if options.write:
        _write_scoreboard()
    if options.json:
        print_json(rows)
        return
    for row in rows:
        print(f"{row['paper']}, {row['figure']}: {row['outcome']}. {' '.join(row['found'].split())}")


def import_runs(options: argparse.Namespace) -> None:
    """Take the finished runs of the committed evidence into the store, to add seeds or arms without training them."""
    from recombine.lab.publish.imports import import_published

    plan = plan_of(options)
    taken, others = import_published(plan, results_folder(), store_of(options))
    left = len(plan.runs) - taken
    if options.json:
        print_json({"imported": taken, "others": others, "missing": left})
        return
    if not taken:
        raise UserError(f"no published run of {plan.experiment.address} is one of this plan at {plan.budget}: evidence "
                        "is of full, try --budget full and no --set")  # fmt: skip
    other = f"; {others} published runs have other settings or seeds" if others else ""
    print(f"{taken} runs of {plan.experiment.address} are in {options.store}, {left} of this plan are not{other}")
