"""How long each command that trains nothing takes to answer, from a fresh process, the best of three.

`python -m benchmarks.commands` prints seconds by command.
"""

import json
import subprocess
import sys
import time

COMMANDS = (
    "--help", "list", "list --help", "run --help", "plan --help", "plan concept-graphs/emergence",
    "plan local-scores/length --budget full", "plan identity-mapping/phase-diagram --budget full",
    "plan bumps/percolation --budget full", "status", "status --help", "status concept-graphs/emergence", "claims",
    "claims --results", "claims --help", "compare --help", "report --help", "scoreboard --help", "sample --help",
)  # fmt: skip
TURNS = 3


def seconds_of(command: str) -> float:
    """The best of three turns."""
    turns = []
    for _ in range(TURNS):
        began = time.perf_counter()
        words = [sys.executable, "-m", "recombine.cli", *command.split()]
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
        turns.append(time.perf_counter() - began)
    return min(turns)


if __name__ == "__main__":
    print(json.dumps({command: round(seconds_of(command), 2) for command in COMMANDS}, indent=2))
