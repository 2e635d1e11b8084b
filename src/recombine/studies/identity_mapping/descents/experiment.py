"""Yang et al. 2025, Figs 8 and 9: with three and four concepts the loss at the probe may fall three and four times.

*Data.* Triple: mu = (1, 1.5, 2.2) with sigma = 0.05 as in the text, mu = (1, 1.7, 2.25) with sigma = (0.5, 0.25, 0.25)
as in the script. Quadruple: mu = (1, 1.5, 2.2, 2.7), sigma = 0.05 in the script, the last one 0.5 in the text.
*Model.* W = U U^T from U uniform in (0, 0.1), moved as in the scripts (W by Euler's step of 0.01, 10,000 of them), and
by the exact flow on U over the same time; with A and with the scripts' A^2. *Computed.* How often the loss at the
probe falls, counting only rises above 0.1% of its largest; Euler runs that diverge are cut first. *Asked.* How many
starts have it?
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from recombine.lab.experiment import Budget, Experiment
from recombine.runs.identity_flows import SCRIPTS_TIME, FlowsConfig, steps_for
from recombine.runs.work import Row
from recombine.studies.identity_mapping._shared.rows import RIPPLE, blocks, counts, curve, row
from recombine.studies.identity_mapping.descents.claims import Way
from recombine.theory.identity.curves import along_path, turning_points
from recombine.theory.identity.flow import descents, euler_on_w, flow, probe_loss

if TYPE_CHECKING:
    from torch import Tensor

MOST_FALLS = 5  # that are counted
GONE = 2.0  # times its first loss: an Euler run that ends above has left
NEGATIVE = -1e-9  # an eigenvalue below it is not rounding


class DescentsConfig(FlowsConfig):
    """Several concepts, and how often the loss at their combination is expected to fall."""

    kind: Literal["identity-descents"] = "identity-descents"
    signals: tuple[float, ...] = Field(default=(1.0, 1.5, 2.2), min_length=2)
    spreads: tuple[float, ...] = (0.05, 0.05, 0.05)
    scale: float = Field(default=0.1, gt=0, le=1)
    starts: int = Field(default=1000, ge=1)
    step: float = Field(default=0.01, gt=0, description="of Euler, in the scripts' time")
    steps: int = Field(default=10_000, ge=10)
    keep: int = Field(default=5, ge=1, description="Euler steps from one evaluation of the loss to the next")
    moments_kept: int = Field(default=200, ge=2)

    @property
    def wanted(self) -> int:
        """One fall a concept."""
        return len(self.signals)

    def rows(self) -> list[Row]:
        """Counts for both ways; the curve of the first start that falls often enough, with its turns."""
        a, z, starts = self.moments(), self.probe(), self.draw_starts()
        numbers: dict[Way, Counter[str]] = {"euler": Counter(), "flow": Counter()}
        fallen: dict[Way, Counter[int]] = {"euler": Counter(), "flow": Counter()}
        shown: dict[Way, list[Row]] = {}
        for block in blocks(starts):
            euler_times, weights, smallest = euler_on_w(block @ block.mT, a, self.step, self.steps, self.keep)
            stepped = probe_loss(weights, z)  # [T, n]
            stayed = stepped.isfinite().all(0) & (stepped[-1] < GONE * stepped[0])
            lost = ~(smallest >= NEGATIVE).all(0)  # NaN is lost too
            times, weights = flow(block, a, *steps_for(a, self.step * self.steps / SCRIPTS_TIME))
            flown = probe_loss(weights, z)
            falls: dict[Way, Tensor] = {
                "euler": descents(stepped, RIPPLE).falls.where(stayed, 0), "flow": descents(flown, RIPPLE).falls
            }  # fmt: skip
            often = falls["flow"] >= self.wanted
            numbers["euler"].update({
                "stayed": int(stayed.sum()), "lost": int(lost.sum()), "flow often": int(often.sum()),
                "flow often, cut": int((often & ~stayed).sum()),
            })  # fmt: skip
            curves = {"euler": (euler_times, stepped), "flow": (SCRIPTS_TIME * times, flown)}
            for way, found in falls.items():
                numbers[way].update(starts=len(block))
                fallen[way].update({k: int((found >= k).sum()) for k in range(1, MOST_FALLS + 1)})
                enough = (found >= self.wanted).nonzero()[:, 0].tolist()
                if enough and way not in shown:
                    clock, losses = curves[way]
                    shown[way] = example(clock, losses[:, enough[0]], self.moments_kept, way=way)
        rows = counts({"followed": self.step * self.steps})
        for way in numbers:
            rows += counts(numbers[way], way=way) + shown.get(way, [])
            rows += [row("fallen", k, way=way, falls=falls) for falls, k in fallen[way].items()]
        return rows


def example(times: Tensor, losses: Tensor, moments_kept: int, **columns: str) -> list[Row]:
    """A curve and its turns, up to where a tenth of its last peak is left. times and losses [T]."""
    turns = turning_points(losses, RIPPLE)
    last = turns[-1] if turns else 0
    fallen = (losses[last:] < 0.1 * losses[last]).nonzero()[:, 0].tolist()
    end = last + fallen[0] if fallen else len(losses) - 1
    heights = losses[: end + 1].clamp(min=1e-6).log()
    kept = along_path(times[: end + 1], (heights - heights.min())[None], moments_kept).tolist()
    kept = sorted({*kept, *turns})
    marks = ["trough" if number % 2 == 0 else "peak" for number in range(len(turns))]
    found = curve("loss", times[kept], losses[kept], **columns)
    return found + [
        row(mark, float(losses[t]), time=float(times[t]), **columns) for mark, t in zip(marks, turns, strict=True)
    ]


SETTINGS: dict[str, dict[str, Any]] = {
    "triple": {"signals": (1.0, 1.5, 2.2), "spreads": (0.05, 0.05, 0.05)},
    "triple script": {"signals": (1.0, 1.7, 2.25), "spreads": (0.5, 0.25, 0.25)},
    "quadruple": {"signals": (1.0, 1.5, 2.2, 2.7), "spreads": (0.05, 0.05, 0.05, 0.5)},
    "quadruple script": {"signals": (1.0, 1.5, 2.2, 2.7), "spreads": (0.05, 0.05, 0.05, 0.05)},
}


def _arms(**changes: int) -> dict[str, DescentsConfig]:
    powers: dict[str, Literal[1, 2]] = {"A": 1, "A2": 2}
    return {
        f"{name} {short}": DescentsConfig(power=power, **setting, **changes)
        for name, setting in SETTINGS.items()
        for short, power in powers.items()
    }


EXPERIMENT = Experiment(
    question="How often does the loss at the combination of three or four concepts fall three or four times?",
    figure="Yang et al. 2025, Figs 8, 9",
    budgets={
        "smoke": Budget(_arms(starts=8, steps=600, keep=10, moments_kept=30), 1, "a few seconds"),
        "laptop": Budget(_arms(starts=100), 1, "half a minute"),
        "full": Budget(_arms(), 1, "a minute on two CPU cores; 1,000 starts an arm"),
    },
    columns={"concepts": int, "way": str, "falls": int, "time": float},
    of_arm=lambda config: {"concepts": config.wanted},
    assumptions=(
        "Arms end in A, or in A2 for the scripts' A^2, element by element. d is the number of concepts.",
        "Time is the scripts' (twice that of gradient flow).",
        "Shares are of all starts: an Euler run that diverges is cut and has no descents. It is cut where it is not "
        "finite or ends above twice its first loss.",
    ),
)
