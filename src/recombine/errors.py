"""Errors that a person caused or can fix: one line that says what to do, and the exit status that goes with it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Wrong use: bad config, impossible split, missing device. Shown as one line; exit status 2."""

    exit_status = 2


class RunFailed(UserError):
    """A run could not finish: NaN loss, full disk, corrupt checkpoint. Shown as one line; exit status 1."""

    exit_status = 1


@contextmanager
def in_one_line() -> Iterator[None]:
    """For commands beside `recombine`: such an error ends them with its line and status, without a traceback."""
    try:
        yield
    except UserError as error:
        print(f"recombine: {error}", file=sys.stderr)
        raise SystemExit(error.exit_status) from None
