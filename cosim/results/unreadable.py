"""Unreadable: a run folder that cannot be read."""

from cosim.configuration import ConfigurationError


class Unreadable(ConfigurationError):
    """A run folder, or a file of it, that is damaged or of a newer cosim.

    Attributes:
        why: What is wrong with it, as a sentence; the message says how to fix it, too.
    """

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(f"{why} {fix}")
        self.args = why, fix
        self.why = why
