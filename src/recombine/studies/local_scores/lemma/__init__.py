"""The experiment local-scores/lemma."""
