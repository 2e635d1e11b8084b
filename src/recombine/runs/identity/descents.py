"""How often the loss at a combination of several concepts falls, by Euler on W and by the exact flow on U."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from recombine.runs.identity.flows import SCRIPTS_TIME, FlowsConfig, steps_for
from recombine.runs.identity.rows import RIPPLE, blocks, counts, curve, row
from recombine.runs.work import Row
from recombine.theory.identity.curves import along_path, turning_points
from recombine.theory.identity.flow import descents, euler_on_w, flow, probe_loss

if TYPE_CHECKING:
    from torch import Tensor

Way = Literal["euler", "flow"]
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
