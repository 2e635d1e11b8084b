"""The rows that measurements of starts become."""

import math

from recombine.runs.identity.rows import row


def test_a_row_has_no_nan() -> None:
    assert row("a", 2.0, epoch=1.5) == {"instrument": "a", "value": 2.0, "epoch": 1.5}
    assert row("a", math.nan)["value"] is None
