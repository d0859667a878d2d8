"""Every protocol of ours with every downlink: it keeps the laws, or the downlink refuses it in a sentence."""

import attrs
import pytest
import worlds

import cosim
from cosim import ConfigurationError, Never
from cosim.testing import small_system
from cosim.testing.laws.tables import LAWS, same_tables

TRAINING = small_system().protocol.training
CLIENTS = cosim.ClientTraining(num_local_steps=3, local=cosim.Sgd(batch_size=5))
CELLS = cosim.protocols.WholeCells(training=TRAINING)


BUFFERED = cosim.FedBuff(num_updates=2, training=CLIENTS)
ONE_BY_ONE = {
    "FedAsync": worlds.in_versions(cosim.FedAsync(training=CLIENTS)),
    "FedBuff": worlds.in_versions(BUFFERED),
    "GeneralisedAsync": worlds.in_versions(cosim.protocols.GeneralisedAsync(training=CLIENTS)),
    "TimeTriggered": worlds.in_versions(cosim.protocols.TimeTriggered(training=CLIENTS)),
    "asynchronous cells": worlds.in_rounds(
        cosim.HFedAvg(training=cosim.protocols.AsynchronousTraining(protocol=BUFFERED))
    ),
}
PLANNING = {
    "RawHfl": worlds.rawhfl(),
    "Hist, latency-optimal": worlds.in_rounds(
        cosim.Hist(training=TRAINING, submodel_sizes=cosim.protocols.LatencyOptimal())
    ),
}
SYSTEMS = {
    "HFedAvg": small_system(),
    "Hist": worlds.in_rounds(cosim.Hist(training=TRAINING)),
    "SCAFFOLD": worlds.in_rounds(
        cosim.HFedAvg(training=attrs.evolve(TRAINING, local=cosim.training.Scaffold(batch_size=5)))
    ),
    "first two": small_system(cosim.waiting.FirstK(num_updates=2)),
    "upload deadline": small_system(cosim.waiting.UploadDeadline(upload_deadline_s=0.01)),
    "FedBuff of cells": worlds.in_versions(cosim.FedBuff(num_updates=2, training=CELLS)),
    "Vhfl": worlds.vhfl(),
    **PLANNING,
    **ONE_BY_ONE,
}
DOWNLINKS = {
    "broadcast": (cosim.radio.Broadcast(bandwidth_hz=2e5), True),
    "broadcast first": (cosim.radio.Broadcast(bandwidth_hz=2e5), False),
    "unicast": (cosim.radio.Unicast(sharing=cosim.FixedShares(bandwidth_hz=2e5)), True),
    "unicast first": (cosim.radio.Unicast(sharing=cosim.radio.RedividedShares(bandwidth_hz=2e5)), False),
}


def refusal(name: str, downlink: cosim.Link, counts: bool) -> str | None:
    """Error of a system; None if it runs."""
    kind = type(downlink).__name__
    if isinstance(downlink, cosim.radio.Broadcast):
        if name in ONE_BY_ONE:
            return rf"clients get their jobs one by one, and System.downlink = {kind} sends"
        if name == "Vhfl":
            return rf"each client is sent something of its own, and System.downlink = {kind} sends"
    if name in PLANNING and counts:
        return (
            rf"System.downlink = {kind}: no plan knows how long a download takes, .* plans how long jobs take"
        )
    if name in ONE_BY_ONE and not counts:
        return "System with downloads_count = false lets the clients of an edge round wait for each other"
    return None


@pytest.mark.parametrize("downlink", DOWNLINKS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_it_runs_or_is_refused(name, downlink):
    part, counts = DOWNLINKS[downlink]
    if (why := refusal(name, part, counts)) is not None:
        with pytest.raises(ConfigurationError, match=why):
            attrs.evolve(SYSTEMS[name], downlink=part, downloads_count=counts)
        return
    system = attrs.evolve(SYSTEMS[name], downlink=part, downloads_count=counts, evaluation=Never())
    found, shuffled = cosim.run(system), cosim.run(system, shuffle_ties=1)
    for law in LAWS:
        law(found)
    same_tables("determinism", found, shuffled, "an order that hangs on insertion")
    down = found.transfers[found.transfers["direction"] == "down"]
    assert set(down["client"]) == set(found.fates["client"])
    assert (down["arrived"] | (down["sent_bits"] < down["payload_bits"])).all()
    assert not down.duplicated(["client", "job"]).any()


@pytest.mark.parametrize(("name", "factor"), [("HFedAvg", 1.0), ("Hist", 0.5), ("SCAFFOLD", 2.0)])
def test_bits_are_those_of_the_workload(name, factor):
    """Of two cells with half of the hidden units each, and of a model with its control variate."""
    system = attrs.evolve(SYSTEMS[name], downlink=DOWNLINKS["broadcast"][0], evaluation=Never())
    sent = cosim.run(system).transfers.groupby("direction")["payload_bits"].unique()
    assert [*sent["down"], *sent["up"]] == [factor * 32 * (12 * 8 + 8 * 4)] * 2


def test_outputs_come_with_the_weights_of_a_vertical_network():
    """Values down are as many as up: an output for each sample, and the gradient with respect to it."""
    system = attrs.evolve(SYSTEMS["Vhfl"], downlink=DOWNLINKS["unicast"][0], evaluation=Never())
    result = cosim.run(system)
    sizes = result.transfers.groupby(["client", "direction"])["payload_bits"].unique().unstack()
    assert sizes["down"].tolist() == sizes["up"].tolist()
    model = attrs.evolve(system, protocol=small_system().protocol, num_cells=1)
    whole = cosim.run(model).uploads["payload_bits"].iloc[0]
    assert all(int(own[0]) != whole for own in sizes["down"])
