"""Progress with time left, one bar or line a run, fed by the engine."""

import time
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from recombine.lab.execute import conduct
from recombine.lab.experiment import PlannedRun


class ProgressBars:
    """A bar for each planned run; on a terminal that cannot draw, a line at each tenth of the way."""

    def __init__(self, runs: Sequence[PlannedRun], console: Console) -> None:
        self._console, self._names = console, {run.address: f"{run.arm} seed {run.seed}" for run in runs}
        self._bars = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[seen]} images"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
            TextColumn("[dim]{task.fields[text]}"), console=console, speed_estimate_period=60, refresh_per_second=4,
        )  # fmt: skip
        self._tasks: dict[str, TaskID] = {}
        self._tenths: dict[str, int] = {}
        self._first: dict[str, tuple[float, int]] = {}  # when a run was first heard of, and its images seen then

    def __enter__(self) -> "ProgressBars":
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._bars.stop()

    def __call__(self, news: conduct.Progress) -> None:
        """Take news of a run."""
        name = self._names.get(news.address, news.address)
        text = news.text or (f"loss {news.loss:.4f}" if news.loss is not None else "")
        if not self._console.is_terminal:
            self._print_tenth(name, news, text)
            return
        if news.address not in self._tasks:
            self._tasks[news.address] = self._bars.add_task(name, total=news.total, seen="0", text="")
        self._bars.update(
            self._tasks[news.address], completed=news.images_seen, seen=f"{news.images_seen:,}", text=text
        )

    def _print_tenth(self, name: str, news: conduct.Progress, text: str) -> None:
        now, tenth = time.monotonic(), 10 * news.images_seen // news.total
        began, seen = self._first.setdefault(news.address, (now, news.images_seen))
        if news.text or tenth > self._tenths.get(news.address, 0):
            done = f"{news.images_seen:,} of {news.total:,} images" if news.total > 1 else "computed"
            left = ""
            if seen < news.images_seen < news.total:
                pace = (now - began) / (news.images_seen - seen)
                left = f", {timedelta(seconds=round(pace * (news.total - news.images_seen)))} left"
            self._console.print(f"{name}: {done}{left}  {text}", highlight=False)
        self._tenths[news.address] = max(tenth, self._tenths.get(news.address, 0))
