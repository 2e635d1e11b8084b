"""Progress bars with time left, one bar or line for each run."""

import time
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from recombine.lab.execute.jobs import RunProgress
from recombine.lab.experiment import PlannedRun


class ProgressBars:
    """A bar for each planned run; without a terminal, a line at each tenth of the way."""

    def __init__(self, runs: Sequence[PlannedRun], console: Console) -> None:
        self._console, self._names = console, {run.address: f"{run.arm} seed {run.seed}" for run in runs}
        self._bars = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[seen]} images"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
            TextColumn("[dim]{task.fields[text]}"), console=console, speed_estimate_period=60, refresh_per_second=4,
        )  # fmt: skip
        self._tasks: dict[str, TaskID] = {}
        self._tenths: dict[str, int] = {}
        self._first: dict[str, tuple[float, int]] = {}  # when a run first reported, and its images seen then

    def __enter__(self) -> "ProgressBars":
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._bars.stop()

    def __call__(self, progress: RunProgress) -> None:
        """Show how far a run is."""
        name = self._names.get(progress.address, progress.address)
        text = progress.text or (f"loss {progress.loss:.4f}" if progress.loss is not None else "")
        if not self._console.is_terminal:
            self._print_tenth(name, progress, text)
            return
        if progress.address not in self._tasks:
            self._tasks[progress.address] = self._bars.add_task(name, total=progress.total, seen="0", text="")
        self._bars.update(
            self._tasks[progress.address], completed=progress.images_seen, seen=f"{progress.images_seen:,}", text=text
        )

    def _print_tenth(self, name: str, progress: RunProgress, text: str) -> None:
        now, tenth = time.monotonic(), 10 * progress.images_seen // progress.total
        began, seen = self._first.setdefault(progress.address, (now, progress.images_seen))
        if progress.text or tenth > self._tenths.get(progress.address, 0):
            done = f"{progress.images_seen:,} of {progress.total:,} images" if progress.total > 1 else "computed"
            left = ""
            if seen < progress.images_seen < progress.total:
                pace = (now - began) / (progress.images_seen - seen)
                left = f", {timedelta(seconds=round(pace * (progress.total - progress.images_seen)))} left"
            self._console.print(f"{name}: {done}{left}  {text}", highlight=False)
        self._tenths[progress.address] = max(tenth, self._tenths.get(progress.address, 0))
