"""Claims about SDXL are judged on its trained weights alone."""

from recombine.lab.claims import Judgement, NotMeasured
from recombine.lab.rules import Rule
from recombine.lab.table import Table, at_end
from recombine.runs.sdxl import TRAINED


def of_trained(arm: str, rule: Rule) -> Rule:
    """The rule, refused for anything but the trained weights of SDXL."""

    def judge(table: Table) -> Judgement:
        measured = at_end(table, TRAINED, arm=arm)
        if not measured:
            raise NotMeasured("not measured: nothing is known of the weights")
        if min(measured.values()) < 1:
            raise NotMeasured("not measured: these are not SDXL's trained weights")
        return rule(table)

    return judge


def weights_text(table: Table) -> str:
    """What a caption says of random weights; nothing of trained ones."""
    random = min(at_end(table, TRAINED).values(), default=1) < 1
    return "RANDOM WEIGHTS: this shows what no training looks like." if random else ""
