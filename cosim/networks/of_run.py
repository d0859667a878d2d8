"""Run network: the network of a run with its first values, and by what it is known again.

What is drawn for it follows from the run's seed (`cosim.networks.first_values`).
"""

from typing import TYPE_CHECKING, Any

from cosim.clock.draws import Draws
from cosim.configuration import ConfigurationError, to_dict
from cosim.names import CLOUD
from cosim.system.system import System

if TYPE_CHECKING:
    from cosim.networks.first_values import FirstValues
    from cosim.networks.named import Named


def network_of(system: System, network: Any = None, values: bool = False) -> Any:
    """The network that a system names, as its run begins with it; without values where nothing is learned.

    Args:
        network: A function that returns it, or what builds it by its name. None means what the system names.
        values: True if it has values even so.

    Raises:
        ConfigurationError: There is none, or it is to bring weights, which a family cannot.
    """
    from cosim.networks.named import built

    values |= system.evaluation.learns
    return built(*_named(system, network), values=values, key=_key(system))


def first_values_of(system: System, network: Any = None) -> "FirstValues":
    """The network of a run with its first values, without values where nothing is learned.

    Args:
        network: A torch.nn.Module, a function that returns one, or what builds one by its name. None means
            what the system names.

    Raises:
        ConfigurationError: As `network_of`; its values do not follow from the seed; defaults of torch's that
            no run learns under.
    """
    from cosim.networks.first_values import FirstValues, as_they_are, of_name, reset
    from cosim.networks.named import built

    learns, brings = system.evaluation.learns, system.initial_weights == "network"
    if learns:
        _check_defaults()
    if hasattr(network, "named_parameters"):
        if not learns:
            return FirstValues(network)
        return as_they_are(network) if brings else reset(network, _key(system))
    name, build = _named(system, network)
    if not learns:
        return FirstValues(built(name, build, values=False))
    return as_they_are(built(name, build)) if brings else of_name(name, build, _key(system))


def _check_defaults() -> None:
    """Refuse what a caller has changed for all of torch, so that a network would be another one."""
    import torch

    if torch.get_default_dtype() != torch.float32:
        raise ConfigurationError(
            f"torch's default type is {torch.get_default_dtype()}, but a run learns in float32. Use "
            "torch.set_default_dtype(torch.float32) before cosim.run."
        )
    if (device := torch.empty(0).device).type != "cpu":
        raise ConfigurationError(
            f"torch's default device is {device}, but a run makes its networks on the "
            'CPU. Use torch.set_default_device("cpu"), and cosim.run(..., device="cuda") for a GPU.'
        )
    if torch.is_inference_mode_enabled():
        raise ConfigurationError(
            "torch is in inference mode, in which nothing can be trained. Call cosim.run outside "
            "torch.inference_mode()."
        )


def _named(system: System, network: Any) -> "Named":
    from cosim.networks.named import Named, builder

    if network is None:
        network = Named(system.model, builder(system.model))
    named = network if isinstance(network, Named) else Named.of(network)
    if system.initial_weights == "network" and ":" not in named.name:
        raise ConfigurationError(
            f"System.initial_weights = 'network': {named.name} has no weights of its own. Use 'drawn', "
            "or a function of yours that returns a network: System.model = 'module:function'.",
            "System.initial_weights",
        )
    return named


def _key(system: System) -> int:
    """From which the first values of a run follow."""
    return Draws(system.seed).key(CLOUD, "initial weights")


def configuration_of(system: System, first: "FirstValues", scenario: str | None) -> dict[str, Any]:
    """Content of a run's config.json: scenario, system, and the identity of its network."""
    from cosim.networks.identity import identity

    found = identity(first.network) | first.identity
    return {"scenario": scenario, "system": to_dict(system), "network": found}
