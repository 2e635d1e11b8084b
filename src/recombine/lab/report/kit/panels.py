"""A figure in the house style with its panels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib.figure import Figure
from numpy.typing import NDArray

from recombine.lab.report.kit.style import house_style


@contextmanager
def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, share_y: bool = True, **grid: Any
) -> Iterator[tuple[Figure, NDArray[Any]]]:
    """A figure of this size in inches and its panels; draw inside of the `with`.  # panels [rows, columns]"""
    with house_style():
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns, sharey=share_y, squeeze=False, **grid)
