"""Modules that are imported when they are first used, so that a command that trains nothing answers at once.

`import torch` takes more than a second. The command line defers it: `import torch` then binds a stand-in that becomes
the module itself at the first look at any of its attributes. No module of the house touches torch while it is imported
unless it defines a network.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_LOCK = threading.RLock()


class _Deferred(ModuleType):
    def __getattribute__(self, name: str) -> Any:
        if name in ("__spec__", "__class__"):  # what an `import` statement looks at
            return object.__getattribute__(self, name)
        _load(self)
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _load(self)
        setattr(self, name, value)


def defer(name: str) -> None:
    """Let `import NAME` cost nothing until the module is used; no effect if it is imported already."""
    if name in sys.modules or (spec := importlib.util.find_spec(name)) is None:
        return
    module = _Deferred(name)
    known = {"__spec__": spec, "__loader__": spec.loader, "__file__": spec.origin, "__package__": name}
    object.__getattribute__(module, "__dict__").update(known, __path__=spec.submodule_search_locations)
    sys.modules[name] = module


def _load(module: ModuleType) -> None:
    with _LOCK:  # another thread may be loading it: wait until it is whole
        if object.__getattribute__(module, "__class__") is _Deferred:
            object.__setattr__(module, "__class__", ModuleType)
            spec = module.__spec__
            assert spec is not None
            assert spec.loader is not None
            try:
                spec.loader.exec_module(module)
            except BaseException:
                sys.modules.pop(module.__name__, None)
                raise


def no_grad(function: Callable[P, R]) -> Callable[P, R]:
    """`torch.no_grad()` as a decorator that does not need torch before the function is called."""

    @wraps(function)
    def without_gradients(*args: P.args, **kwargs: P.kwargs) -> R:
        import torch

        with torch.no_grad():
            return function(*args, **kwargs)

    return without_gradients
