"""How far codes of the label reach: the rules, which say what is expected if the code decides."""

from recombine.instruments.bumps.band_evaluation import BAND
from recombine.instruments.bumps.subject import KNOWN, NEW
from recombine.lab.claims import Claim
from recombine.lab.rules import Measure, above, difference, final, lowest_of, smallest
from recombine.runs.bump_codes import LONG, RAW, SHORT
from recombine.studies.bumps._shared.codes import NAMES
from recombine.studies.bumps._shared.nearest_label import TRAINED
from recombine.worlds.holdouts import SEEN

CODES = (SHORT, RAW, LONG)
NARROW, WIDE = WIDTHS = (4.0, 8.0)  # px: raw sinusoids bridge the one and not the other
SIGMA, SHARE = 0.5, 0.1  # on the lattice, where raw sinusoids have half of what was never seen


def in_band(code: str, width: float, region: str = BAND) -> Measure:
    """What is right across a band, or where bumps were seen beside it, by the fine estimate."""
    return final("fine.both", model=TRAINED, code=code, width=width, region=region)


def on_lattice(code: str, region: str = NEW) -> Measure:
    """What is right of the labels of the lattice that were never seen, by the darkest pixel."""
    return final("darkest.both", model=TRAINED, code=code, share=SHARE, region=region)


def seen(code: str) -> Measure:
    """What was seen and is right: in the run of a band or of the lattice where it is least."""
    return smallest(*(in_band(code, width, SEEN) for width in WIDTHS), on_lattice(code, KNOWN))


GROUPS = {
    "RC1": (f"A band of {NARROW:g} px", {code: in_band(code, NARROW) for code in CODES}),
    "RC2": (f"A band of {WIDE:g} px", {code: in_band(code, WIDE) for code in CODES}),
    "RC3": ("A tenth of the lattice", {code: on_lattice(code) for code in CODES}),
}

CLAIMS = (
    Claim("RC0", "What was seen is right with every code (the lowest)",
          "not asked (above 0.9); without it the others say little",
          above(lowest_of({code: seen(code) for code in CODES}), 0.9), check=True),
    *(Claim(f"{claim}{mark}", f"{where}: more is right with {NAMES[far]} than with {NAMES[near]} (difference)",
            "not asked (above 0)", above(difference(found[far], found[near]), 0.0), check=True)
      for claim, (where, found) in GROUPS.items()
      for mark, near, far in (("s", SHORT, RAW), ("l", RAW, LONG))),
)  # fmt: skip
