"""Numbers as a reader wants them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def number_text(value: Any) -> str:
    """A number as a reader wants it: three digits that count, thousands apart; – where there is none."""
    if value is None:
        return "–"
    number = float(value)
    if not math.isfinite(number):
        return "∞" if number > 0 else "−∞" if number < 0 else "–"
    return (f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}").replace("-", "−")


def interval_text(ends: Sequence[float | None] | None) -> str:
    """An interval; a null end is open."""
    if ends is None:
        return "–"
    low, high = ends
    return f"{'−∞' if low is None else number_text(low)} to {'∞' if high is None else number_text(high)}"
