"""Names and colours of the codes in which a network receives the label."""

from typing import Any

from recombine.runs.bump_codes import ANGLES, LONG, RAW, SCALAR, SHORT

NAMES = {
    RAW: "sinusoids of the paper", SHORT: "short sinusoids", LONG: "long sinusoids", SCALAR: "two numbers",
    ANGLES: "two angles",
}  # fmt: skip
COLORS = {RAW: "#4D4D4D", SHORT: "#D55E00", LONG: "#009E73", SCALAR: "#CC79A7", ANGLES: "#E69F00"}
DASHES: dict[str, Any] = {RAW: "-", SHORT: ":", LONG: "--", SCALAR: (0, (5, 1.5, 1.2, 1.5)), ANGLES: (0, (9, 2))}
