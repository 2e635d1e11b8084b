"""A new experiment: a folder that runs at smoke at once, to be changed line by line into one's own question."""

from __future__ import annotations

import os
import re
from collections.abc import Container
from pathlib import Path

from recombine.errors import UserError
from recombine.files import write_whole

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

EXPERIMENT = '''\
"""{title}: which classes does a model draw that it never saw?

*World.* One object: circle or triangle, red or blue, large or small. *Split.* The model sees 000, 001, 010 and 100.
*Measured.* How many samples of each class show exactly the object that was asked for.
"""

from recombine.instruments.shapes.accuracy import COLUMNS
from recombine.lab.experiment import Budget, Experiment
from recombine.studies.concept_graphs.emergence.experiment import FULL, LAPTOP, SMOKE

ARM = "continuous"

EXPERIMENT = Experiment(
    question="Which unseen combinations does a model learn to draw?",
    figure="none: a question of our own",
    columns=COLUMNS,
    budgets={{
        "smoke": Budget({{ARM: SMOKE}}, 1, "seconds; proves the path, shows nothing"),
        "laptop": Budget({{ARM: LAPTOP}}, 1, "one seed, about five minutes on two CPU cores"),
        "full": Budget({{ARM: FULL}}, 5, "five seeds, minutes on one GPU"),
    }},
)
'''
CLAIMS = '''\
"""What is claimed, and the rule that judges it over seeds."""

from recombine.lab.claims import Claim
from recombine.lab.rules import above, final

CLAIMS = (
    Claim(
        "{id}", "the farthest class is drawn right in most samples", "not asked (above 0.5)",
        above(final("reader.product", node="111", sampler=None), 0.5), check=True,
    ),
)  # fmt: skip
'''
FIGURES = '''\
"""The figure: how often each class is drawn right, over training."""

from matplotlib.figure import Figure

from recombine.lab.experiment import Drawing
from recombine.lab.report.kit.curves import draw_series
from recombine.lab.report.kit.style import house_style
from recombine.lab.table import curves


def draw(table, config):
    """Accuracy of every class over images seen."""
    with house_style():
        figure = Figure(figsize=(9, 6), layout="constrained")
        series = {{node: [] for node in config.world.nodes}}
        for (_, node), curve in curves(table, "reader.product", "node", sampler=None).items():
            series[node].append(curve)
        draw_series(figure.subplots(), series)
    return {{"figure": Drawing(figure, "How often each class is drawn right, over training.")}}
'''
FINDINGS = """\
We asked which unseen combinations a model learns to draw. The farthest class is drawn right in
{{{{ {id}.estimate | percent }}}} of samples ({{{{ {id}.interval }}}}, {{{{ {id}.n }}}} seeds).
"""


def write_experiment(address: str, root: Path, known: Container[str]) -> Path:
    """Write the folder of a new experiment below `root`, a folder of studies; `known` addresses are taken."""
    study, slash, name = address.partition("/")
    if not slash or not NAME.fullmatch(study) or not NAME.fullmatch(name):
        raise UserError(f"'{address}' is no address of an experiment: give STUDY/EXPERIMENT in small letters and '-'")
    if address in known:
        raise UserError(f"there is an experiment '{address}' already: give another name")
    if not os.access(root, os.W_OK):
        raise UserError(f"{root} cannot be written: name a folder for your studies, as in RECOMBINE_STUDIES=studies")
    folder = root / study.replace("-", "_") / name.replace("-", "_")
    words = {"title": name.replace("-", " ").capitalize(), "id": re.sub(r"[^A-Z0-9]", "", name.upper())[:6] + "1"}
    files = {"experiment.py": EXPERIMENT, "claims.py": CLAIMS, "figures.py": FIGURES, "findings.md": FINDINGS}
    for package in (folder.parent, folder):
        if not (package / "__init__.py").exists():
            write_whole(package / "__init__.py", "")
    for file, text in files.items():
        write_whole(folder / file, text.format(**words))
    return folder
