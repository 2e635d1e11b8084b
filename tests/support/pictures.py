"""What tests read off a figure: its words, its legends, its lines, and its pixels."""

import io
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image


def words(place: Figure | Axes) -> str:
    """All text that can be read, one piece a line."""
    return "\n".join(text.get_text() for text in place.findobj(Text) if isinstance(text, Text))


def legend(axes: Axes) -> list[str]:
    """The entries of a panel's legend; none where there is no legend."""
    found: Any = axes.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def heights(line: Line2D) -> NDArray[np.float64]:
    """What a line shows."""
    return np.asarray(line.get_ydata(), dtype=np.float64)


def render(figure: Figure) -> bytes:
    """The picture as PNG, small; laid out and painted once, where `savefig` would do so twice."""
    figure.set_dpi(30)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    Image.fromarray(np.asarray(canvas.buffer_rgba())).save(buffer := io.BytesIO(), format="png")
    return buffer.getvalue()
