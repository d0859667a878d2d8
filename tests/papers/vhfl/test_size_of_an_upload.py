"""Gradients in an upload of VHFL, which its paper calls small beside the weights, in the scenario's sizes."""

import cosim
from cosim.networks.named import network_of
from scenarios import vhfl


def test_gradients_of_an_upload_take_more_bits_than_its_weights():
    """A gradient for each sample and output: sizes decide, and the paper has none."""
    system = cosim.evolve(vhfl.system(), end=cosim.AfterRounds(num_global_rounds=1), evaluation=cosim.Never())
    network = network_of(system.model)
    num_weights = sum(weights.numel() for weights in network.local.parameters())
    (bits,) = cosim.run(system).transfers["payload_bits"].unique()
    num_gradients = bits / 32 - num_weights
    num_outputs = int(system.model.rpartition("-")[2])
    assert num_gradients % num_outputs == 0
    assert num_gradients > 4 * num_weights
