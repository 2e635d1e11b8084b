"""Numbers of the findings: label recall of arms."""

from recombine.studies.local_scores._shared.label_recall import numbers as numbers
