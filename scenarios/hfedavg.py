"""HFedAvg on Fashion-MNIST: the baseline of HIST, on the same clients, channels and data.

Every cell trains the whole model, so each upload has N times the bits of HIST's.

    cosim run hfedavg
"""

from cosim import HFedAvg, System


def system() -> System:
    """The configuration."""
    return System(protocol=HFedAvg())
