"""Errors that a person caused or can mend: one line that says what to do, and the exit status that goes with it."""


class UserError(Exception):
    """Wrong use: bad config, impossible split, missing device. Shown as one line; exit status 2."""

    exit_status = 2


class RunFailed(UserError):
    """A run could not finish: NaN loss, full disk, corrupt checkpoint. Shown as one line; exit status 1."""

    exit_status = 1
