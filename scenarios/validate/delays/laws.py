"""Laws: all of them, in the order in which they are printed."""

from collections.abc import Sequence

from cosim.configuration import ConfigurationError, did_you_mean
from scenarios.validate.delays.bands import SharedBand, Together
from scenarios.validate.delays.fading import Counts, FadedUploads, Retransmissions
from scenarios.validate.delays.law import Law
from scenarios.validate.delays.orders import Conservation, Patience, Priorities
from scenarios.validate.delays.paths import AgeOfUpdates, TwoStations
from scenarios.validate.delays.queues import AnyLengths, EqualLengths, OneServer, SeveralServers
from scenarios.validate.delays.rounds import Barrier, UnequalBarrier

LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        OneServer(),
        EqualLengths(),
        AnyLengths(),
        SeveralServers(),
        Priorities(),
        Conservation(),
        Patience(),
        TwoStations(),
        AgeOfUpdates(),
        SharedBand(),
        Together(),
        Barrier(),
        UnequalBarrier(),
        FadedUploads(),
        Counts(),
        Retransmissions(),
    )
}
"""Name -> law."""


def laws_of(names: Sequence[str]) -> list[Law]:
    """Laws by name, or all where none is given.

    Raises:
        ConfigurationError: A name of none.
    """
    for name in names:
        if name not in LAWS:
            hint = did_you_mean(name, list(LAWS))
            raise ConfigurationError(f"laws: there is no law {name!r}.{hint} Known: {', '.join(LAWS)}.")
    return [LAWS[name] for name in names or LAWS]
