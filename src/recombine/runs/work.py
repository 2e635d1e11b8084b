"""Work: whatever has an address in the store, seeds, and numbers to give; a training, or a computation without one.

The canonical hash of its settings is its address. Where and how fast it is executed is not part of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from recombine.seeds import Seeds
from recombine.settings import Settings, fingerprint, has_key, override

Row = dict[str, Any]


class Work(Settings, ABC):
    """One piece of work of an experiment."""

    seeds: Seeds = Seeds()

    @property
    def address(self) -> str:
        """Where this work lives in every store."""
        return fingerprint(self)

    @property
    @abstractmethod
    def total(self) -> int:
        """How much there is to do: images to see; for a computation, 1."""

    @abstractmethod
    def check(self) -> None:
        """Refuse what cannot be done, before anything is written."""

    def with_seeds(self, seeds: Seeds) -> Self:
        """The same work with other seeds."""
        return self.replace(seeds=seeds.model_dump())

    def overridden(self, changes: Mapping[str, Any]) -> Self:
        """The same work with dotted keys changed."""
        return override(self, changes)

    def ancestry(self) -> "list[Work]":
        """The work that has to be there before this one, eldest first, and this one."""
        return [self]


class Computation(Work):
    """Numbers that follow from settings and seeds without any training: closed forms and simulations."""

    @property
    def total(self) -> int:
        return 1

    def check(self) -> None:
        """Nothing beyond what the settings themselves refuse, unless a computation says so."""

    def following(self, changes: Mapping[str, Any]) -> Self:
        """The same beside runs whose settings are changed: it takes over those that it has, the rest are the runs'."""
        return self.overridden({key: value for key, value in changes.items() if has_key(self, key)})

    @abstractmethod
    def rows(self) -> list[Row]:
        """Measurements: an instrument, a value, and the factor columns of the experiment that this one is about."""
