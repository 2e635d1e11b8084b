import io
from typing import Any

import pytest
from rich.console import Console

from recombine.lab.execute.jobs import RunProgress
from recombine.lab.execute.progress import ProgressBars
from recombine.lab.experiment import PlannedRun
from recombine.studies.concept_graphs.emergence.experiment import SMOKE

RUN = PlannedRun("continuous", 3, SMOKE)


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=200, color_system=None, legacy_windows=False)


def written(place: Console) -> str:
    assert isinstance(place.file, io.StringIO)
    return place.file.getvalue()


def news(seen: int, total: int = 1000, **more: Any) -> RunProgress:
    return RunProgress(RUN.address, seen, total, **more)


def test_without_a_terminal_one_line_at_each_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("recombine.lab.execute.progress.time.monotonic", lambda: clock[0])
    place = console(terminal=False)
    with ProgressBars([RUN], place) as bars:
        for seen in range(0, 1001, 7):
            clock[0] = 5000 + 0.2 * seen
            bars(news(seen, loss=0.25))
        bars(news(1000, loss=0.25))
    lines = written(place).splitlines()
    assert len(lines) == 10
    assert lines[0] == "continuous seed 3: 105 of 1,000 images, 0:02:59 left  loss 0.2500"
    assert lines[-1] == "continuous seed 3: 1,000 of 1,000 images  loss 0.2500"


def test_without_a_terminal_a_jump_is_one_line_and_a_message_is_always_shown() -> None:
    place = console(terminal=False)
    with ProgressBars([RUN], place) as bars:
        bars(news(0, text="making data and instruments"))
        bars(news(950, loss=1.0))
        bars(news(0, text="waiting: another process trains this run"))
        bars(news(960, loss=1.0))
    lines = written(place).splitlines()
    assert [line.split("  ")[1] for line in lines] == [
        "making data and instruments", "loss 1.0000", "waiting: another process trains this run",
    ]  # fmt: skip


def test_runs_keep_their_own_tenths_and_an_unplanned_run_goes_by_its_address() -> None:
    place = console(terminal=False)
    with ProgressBars([RUN], place) as bars:
        bars(news(500))
        bars(RunProgress("0" * 12, 500, 1000))
    assert [line.split(":")[0] for line in written(place).splitlines()] == ["continuous seed 3", "0" * 12]


def test_on_a_terminal_a_bar_for_each_run() -> None:
    place = console(terminal=True)
    other = PlannedRun("binary", 0, SMOKE.replace(prediction="x0"))
    with ProgressBars([RUN, other], place) as bars:
        bars(news(250, loss=0.5))
        bars(RunProgress(other.address, 1000, 1000, text="done before"))
    text = written(place)
    for part in ("continuous seed 3", " 25%", "250 images", "loss 0.5000", "binary seed 0", "100%", "done before"):
        assert part in text


def test_bars_are_put_away_when_the_work_fails() -> None:
    place = console(terminal=True)

    def stopped() -> None:
        with ProgressBars([RUN], place) as bars:
            bars(news(250))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert written(place).endswith("\x1b[?25h")  # the cursor is back
