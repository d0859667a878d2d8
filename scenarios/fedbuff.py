"""FedBuff on the quickstart's devices, band and digits: no waiting for stragglers.

24 clients are always at work; every ten updates the cloud moves its model along their mean, each weighted by
its staleness. Takes seconds.

    cosim run fedbuff
    cosim run fedbuff --protocol.starts.kind ConstantConcurrency --protocol.starts.num-in-flight 12
"""

from cosim import ClientTraining, FedBuff, Sgd, System, evolve
from cosim.ends import AfterUpdates, EverySeconds
from scenarios import quickstart


def system() -> System:
    """The configuration."""
    clients = ClientTraining(num_local_steps=20, local=Sgd(batch_size=10, learning_rate=0.1))
    return evolve(
        quickstart.system(),
        protocol=FedBuff(training=clients),
        end=AfterUpdates(num_updates=2000),
        evaluation=EverySeconds(interval_s=0.1),
    )
