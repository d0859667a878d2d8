"""Contract: what every check of a part begins with.

In the second process (`cosim.testing.second_process`) a contract does nothing: there the script that asks for
it is executed only so that its parts are found, up to the contract that is under way here.
"""

import os
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

MARK = "COSIM_SECOND_PROCESS"
"""In the environment of the second process."""

Given = ParamSpec("Given")


class Reached(BaseException):
    """A script in the second process has come to the contract that is under way in the first."""


class Contracts:
    """Contracts that this process has asked for.

    Attributes:
        num: How many, not counting contracts within others.
        stops_at: The contract that ends the script, in the second process. None means the first process.
    """

    num = 0
    stops_at: int | None = None
    _depth = 0

    @classmethod
    def begun(cls) -> bool:
        """Count a contract; whether it is to be checked here."""
        if not cls._depth:
            cls.num += 1
        if MARK in os.environ:
            if cls.stops_at is not None and cls.num >= cls.stops_at:
                raise Reached
            return False
        cls._depth += 1
        return True

    @classmethod
    def ended(cls) -> None:
        """Note that the innermost one has ended."""
        cls._depth -= 1


def contract(check: Callable[Given, None]) -> Callable[Given, None]:
    """A check that counts as a contract."""

    @wraps(check)
    def checked(*given: Given.args, **named: Given.kwargs) -> None:
        if not Contracts.begun():
            return
        try:
            check(*given, **named)
        finally:
            Contracts.ended()

    return checked
