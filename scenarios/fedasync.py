"""FedAsync on the quickstart's devices, band and digits: every update makes a model of its own.

24 clients are always at work; the cloud mixes each update into its model as it arrives, by less the later it
comes. Takes seconds.

    cosim run fedasync
    cosim run fedasync --protocol.staleness.kind Hinge
"""

from cosim import FedAsync, System, evolve
from cosim.ends import AfterUpdates, EverySeconds
from cosim.protocols.asynchronous.trainers import ClientTraining
from cosim.training import Proximal
from scenarios import quickstart


def system() -> System:
    """The configuration."""
    clients = ClientTraining(num_local_steps=20, local=Proximal(batch_size=10, learning_rate=0.1))
    return evolve(
        quickstart.system(),
        protocol=FedAsync(training=clients),
        end=AfterUpdates(num_updates=2000),
        evaluation=EverySeconds(interval_s=0.1),
    )
