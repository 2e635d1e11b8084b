"""What the tests of the lab share: one finished smoke run, a run small enough to kill often, and the command line."""

import fcntl
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure

from recombine.cli import main
from recombine.lab.execute.jobs import RunProgress, train_runs
from recombine.lab.store import RunFolder, Store
from recombine.runs.concept_graph import RunConfig
from recombine.settings import override
from recombine.studies.concept_graphs.emergence.experiment import SMOKE
from recombine.training.execution import Execution

EXPERIMENT = "concept-graphs/emergence"

# A shell starts its background jobs deaf to Ctrl-C; the tests press it, also when they run as such a job.
signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Answer:
    """What a command left: exit status, standard output and standard error."""

    status: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("recombine: ")]


Call = Callable[..., Answer]


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the engine see one core, so that runs in this process take one thread and give the same bits anywhere."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], one_core: None) -> Call:
    """Give a command in this process."""

    def give(*words: object) -> Answer:
        capsys.readouterr()
        status = main([str(word) for word in words])
        return Answer(status, *capsys.readouterr())

    return give


@pytest.fixture(scope="session")
def _smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One smoke run with its report, made once a session even where several processes share it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    root, finished = shared / "smoke-store", shared / "smoke-store.finished"
    with open(shared / "smoke-store.lock", "w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not finished.exists():
            patch.setattr(os, "cpu_count", lambda: 1)
            assert main(["run", EXPERIMENT, "--budget", "smoke", "--store", str(root)]) == 0
            finished.touch()
    return root


@pytest.fixture(scope="session")
def smoke_store(_smoke: Path) -> Path:
    """A store with one finished smoke run and its report; only to be read."""
    return _smoke


@pytest.fixture
def smoke_copy(smoke_store: Path, tmp_path: Path) -> Path:
    """A copy of the smoke store, to be written to."""
    return Path(shutil.copytree(smoke_store, tmp_path / "smoke"))


@pytest.fixture
def quick_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw figures, but write a single pixel: for tests whose subject is something else."""
    from PIL import Image

    from recombine.lab.report import conclude

    def save(figure: object, path: Path) -> list[Path]:
        Image.new("RGB", (1, 1)).save(path.with_name(path.name + ".png"))
        return [path.with_name(path.name + ".png")]

    monkeypatch.setattr(conclude, "save_figure", save)


@pytest.fixture
def coarse_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out and paint every figure, but once and on few pixels; the fine PNG and the SVG are those of `_smoke`."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    from recombine.lab.report import conclude
    from recombine.lab.report.kit.style import house_style

    def save(figure: Figure, path: Path) -> list[Path]:
        figure.set_dpi(40)
        canvas = FigureCanvasAgg(figure)
        with house_style():
            canvas.draw()
        painted = path.with_name(path.name + ".png")
        Image.fromarray(np.asarray(canvas.buffer_rgba())).save(painted)
        return [painted]

    monkeypatch.setattr(conclude, "save_figure", save)


@pytest.fixture(scope="session")
def tiny() -> RunConfig:
    """The smallest run that still has several milestones, an audit, sheets and an average: under a second."""
    changes = {
        "training.images": 256, "training.batch": 16, "network.channels": 4, "network.multipliers": [1],
        "evaluation.first": 32, "evaluation.points": 3, "evaluation.images_per_node": 2,
        "evaluation.sampler.steps": 2, "evaluation.audit.sampler.steps": 5, "evaluation.calibration_images": 4,
        "evaluation.sheet_points": 2,
    }  # fmt: skip
    return override(SMOKE, changes)


def quiet(news: RunProgress) -> None:
    """Nobody listens."""


@pytest.fixture(scope="session")
def finish() -> Callable[..., RunFolder]:
    """Bring one run to its end in this process, on one thread, saving after every look."""

    def bring(config: RunConfig, root: Path, save_seconds: float = 0) -> RunFolder:
        train_runs([config], Store(root), Execution.fastest("cpu"), quiet, save_seconds)
        return Store(root).run(config.address)

    return bring


@pytest.fixture(scope="session")
def tiny_run(tiny: RunConfig, finish: Callable[..., RunFolder], tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The tiny run, never interrupted; only to be read."""
    return finish(tiny, tmp_path_factory.mktemp("tiny-store"))
