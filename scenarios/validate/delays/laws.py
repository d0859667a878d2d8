"""Laws: ours, in the order in which they are printed, and a user's, by file or module."""

from collections.abc import Sequence

from analysis.laws.port import Law
from cosim.configuration import ConfigurationError
from cosim.configuration.rules import did_you_mean
from scenarios.command_line.modules import module_of, what_failed
from scenarios.command_line.papers import OWN, is_own
from scenarios.validate.delays.bands import SharedBand, Together
from scenarios.validate.delays.fading import Counts, FadedUploads, Retransmissions
from scenarios.validate.delays.loads import Bursts, Room
from scenarios.validate.delays.orders import Conservation, Patience, Priorities
from scenarios.validate.delays.paths import AgeOfUpdates, TwoStations
from scenarios.validate.delays.queues import AnyLengths, EqualLengths, OneServer, SeveralServers
from scenarios.validate.delays.rounds import Barrier, UnequalBarrier

LAWS: dict[str, Law] = {
    "mm1": OneServer(),
    "md1": EqualLengths(),
    "mg1": AnyLengths(),
    "mmc": SeveralServers(),
    "priorities": Priorities(),
    "conservation": Conservation(),
    "patience": Patience(),
    "finite-buffer": Room(),
    "on-off": Bursts(),
    "tandem": TwoStations(),
    "age": AgeOfUpdates(),
    "shared-band": SharedBand(),
    "together": Together(),
    "barrier": Barrier(),
    "unequal-barrier": UnequalBarrier(),
    "faded-upload": FadedUploads(),
    "success-counts": Counts(),
    "retransmission": Retransmissions(),
}
"""Name -> law."""
FUNCTION = "law"
"""Name of a user's function or class, where a file alone is named."""


def laws_of(names: Sequence[str]) -> dict[str, Law]:
    """Laws by name, or all of ours if none is given.

    Raises:
        ConfigurationError: There is none of a name, or a user's cannot be made.
    """
    for name in names:
        if name not in LAWS and not is_own(name):
            hint = did_you_mean(name, list(LAWS))
            known = ", ".join((*LAWS, *OWN))
            raise ConfigurationError(f"laws: there is no law {name!r}.{hint} Known: {known}.")
    return {name: _own(name) if is_own(name) else LAWS[name] for name in names or LAWS}


def _own(name: str) -> Law:
    """A user's law: an object of its module, or what a class or function of it gives."""
    target, _, function = name.partition(":")
    function = function or FUNCTION
    module = module_of(target, name)
    made = getattr(module, function, None)
    if made is None:
        hint = did_you_mean(function, [known for known in vars(module) if known[0] != "_"])
        raise ConfigurationError(
            f"{name}: there is no {function}.{hint} Write class {function}(analysis.laws.Law)."
        )
    try:
        law = made() if callable(made) else made
    except Exception as error:
        raise ConfigurationError(f"{name}: {what_failed(error)}") from None
    if not isinstance(law, Law):
        raise ConfigurationError(
            f"{name}: gives {type(law).__name__}, no law. Use a class that derives from analysis.laws.Law."
        )
    return law
