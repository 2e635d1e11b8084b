"""Three times the time: what is shared with `compose`, and verdicts on made-up tables."""

from recombine.lab.claims import judge_all
from recombine.runs.bumps import BumpsRun
from recombine.studies.bumps._shared.nearest_label import NEAREST, TRAINED
from recombine.studies.bumps.crossing.compose import experiment as compose
from recombine.studies.bumps.crossing.longer.claims import CLAIMS
from recombine.studies.bumps.crossing.longer.experiment import EXPERIMENT
from support.stripes import COMPOSED, LONE, NEAR, Scores, stripes_table


def verdicts(trained: dict[str, Scores], nearest: Scores) -> dict[str, str]:
    arms = [({"data": data, "model": TRAINED}, scores) for data, scores in trained.items()]
    found = stripes_table(*arms, ({"data": "1D", "model": NEAREST}, nearest))
    return {claim["claim"]: claim["verdict"] for claim in judge_all(CLAIMS, found, "bumps", "longer", "full")}


def test_only_time_differs_from_compose() -> None:
    here, there = EXPERIMENT.budgets["full"].arms, compose.EXPERIMENT.budgets["full"].arms
    assert here.keys() == there.keys()
    for arm, work in here.items():
        other = there[arm]
        if arm == "2D+1D" or arm.startswith(NEAREST):
            assert work.address == other.address
        else:
            assert isinstance(work, BumpsRun)
            assert isinstance(other, BumpsRun)
            assert work.training.images == 3 * other.training.images
            assert work.replace(training=other.training, evaluation=other.evaluation).address == other.address


def test_2d_stays_and_lone_stripes_may_cross_in_time() -> None:
    found = verdicts({"2D": NEAR, "1D": COMPOSED, "1D+rim": COMPOSED, "2D+1D": COMPOSED}, LONE)
    assert found == {"LG1": "holds", "LG2": "holds", "LG3": "fails", "LG3n": "holds", "LG4": "holds"}
    found = verdicts({"2D": COMPOSED, "1D": LONE, "1D+rim": LONE, "2D+1D": COMPOSED}, COMPOSED)
    assert found == {"LG1": "fails", "LG2": "fails", "LG3": "holds", "LG3n": "fails", "LG4": "fails"}
