"""Port: what every open part of a system has in common.

A port is a small base class that says what the engine asks of a part; kinds of the part are its subclasses,
ours and others alike. The engine asks ports and names no kind.
"""

from typing import Any

from cosim.configuration.fields import configuration


@configuration
class Port:
    """Base of the ports."""

    def fit(self, system: Any) -> None:
        """Refuse a system that the part does not fit, as soon as the system is made.

        Raises:
            ConfigurationError: What does not fit, and the usual fix.
        """
