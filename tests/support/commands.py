"""What the tests of the command line share."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recombine.lab.store import RunFolder, Store

Call = Callable[..., Any]

NAME = "concept-graphs/emergence"
SMOKE = ("run", NAME, "--budget", "smoke")
# The settings that make the smoke run the tiny one of the fixtures.
TINY = {
    "training.images": 256, "training.batch": 16, "network.channels": 4, "network.multipliers": [1],
    "evaluation.first": 32, "evaluation.points": 3, "evaluation.images_per_node": 2, "evaluation.sampler.steps": 2,
    "evaluation.audit.sampler.steps": 5, "evaluation.calibration_images": 4, "evaluation.sheet_points": 2,
}  # fmt: skip
SETS = tuple(word for key, value in TINY.items() for word in ("--set", f"{key}={json.dumps(value)}"))
ONE_CORE = "import os, sys; os.cpu_count = lambda: 1; from recombine.cli import main; sys.exit(main())"
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def listing(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its time and content, but for locks, which name their last holder."""
    files = (p for p in sorted(root.rglob("*")) if p.is_file() and p.name != "lock")
    return {str(p.relative_to(root)): (p.stat().st_mtime_ns, p.read_bytes()) for p in files}


def only_run(root: Path) -> RunFolder:
    [run] = Store(root).runs()
    return run


def assert_refused(answer: Any, status: int, *says: str) -> None:
    """One line that says what to do. Wrong use says nothing else; a failed run may have shown its progress."""
    assert answer.status == status, answer
    assert "Traceback" not in answer.err
    assert len(answer.complaints) == 1, answer.err
    if status == 2:
        assert len(answer.err.splitlines()) == 1, answer.err
    assert answer.out == ""
    for part in says:
        assert part in answer.complaints[0]
