"""Three times the time: what is shared with `compose`, and verdicts on made-up tables."""

from recombine.lab.claims import judge_all
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.compose.claims import null_of
from recombine.studies.bumps.crossing.longer.claims import LONGER
from recombine.studies.bumps.crossing.longer.experiment import EXPERIMENT
from support.stripes import COMPOSED, LONE, RECALL, Scores, table


def verdicts(scores: dict[str, Scores]) -> dict[str, str]:
    return {claim["claim"]: claim["verdict"] for claim in judge_all(LONGER, table(scores), "bumps", "longer", "full")}


def test_only_time_differs_from_compose() -> None:
    here, there = EXPERIMENT.budgets["full"].arms, compose.EXPERIMENT.budgets["full"].arms
    assert here.keys() == there.keys()
    for arm, work in here.items():
        other = there[arm]
        if arm == "2D+1D" or arm.startswith("memoriser"):
            assert work.address == other.address
        else:
            assert isinstance(work, BumpsRun)
            assert isinstance(other, BumpsRun)
            assert work.training.images == 3 * other.training.images
            assert work.replace(training=other.training, evaluation=other.evaluation).address == other.address


def test_recall_stays_recall_and_lone_stripes_may_cross_in_time() -> None:
    found = verdicts({"2D": RECALL, "1D": COMPOSED, "1D+rim": COMPOSED, "2D+1D": COMPOSED, null_of("1D"): LONE})
    assert found == {"LG1": "holds", "LG2": "holds", "LG3": "fails", "LG3n": "holds", "LG4": "holds"}
    found = verdicts({"2D": COMPOSED, "1D": LONE, "1D+rim": LONE, "2D+1D": COMPOSED, null_of("1D"): COMPOSED})
    assert found == {"LG1": "fails", "LG2": "fails", "LG3": "holds", "LG3n": "fails", "LG4": "fails"}
