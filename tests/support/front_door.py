"""Examples of docstrings as tests."""

import doctest
from collections.abc import Callable
from typing import Any


def examples_of(function: Callable[..., Any]) -> list[doctest.DocTest]:
    """The examples in a function's docstring."""
    found = doctest.DocTestFinder(recurse=False).find(function, function.__name__)
    return [test for test in found if test.examples]
