"""Workloads by hand: cycles and bits of a model, of its parts and of fractions of it."""

import attrs
import numpy as np
import pytest

import cosim
from cosim import ConfigurationError, Never, evolve
from cosim.devices import CyclesPerOperation, CyclesPerStep
from cosim.engine.learning.nothing_learned import NothingLearned
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.networks.of_run import network_of
from cosim.protocols.assignment import Assignment
from cosim.testing import small_system
from cosim.values.submodels import Part

pytestmark = pytest.mark.quick

WEIGHTS = 12 * 8 + 8 * 4
"""Of relu-12-8-4, which has no biases."""


def cloud_of(**parts) -> Cloud:
    system = evolve(small_system(), evaluation=Never(), **parts)
    ground = ground_of(system)
    data = system.data.load(ground.sim, None)
    learner = NothingLearned(network_of(system), data)
    return nodes_of(system, ground, learner, lambda: data)


def test_a_model_and_a_part_of_it_by_hand():
    """Three of eight hidden units hold 3 (12 + 4) weights."""
    cloud = cloud_of(
        cycles=CyclesPerStep(step_cycles=1e6), codec=cosim.codecs.Uncompressed(bits_per_parameter=7)
    )
    (client, *_) = cloud.edges[0].clients
    part = Part({"hidden1": np.array([0, 3, 5])})
    whole, three = cloud.workload.of(), cloud.workload.of(part)
    assert whole.upload == whole.download == (WEIGHTS, 7 * WEIGHTS)
    assert three.upload == three.download == (48, 7 * 48)
    assert whole.cycles(client, 20, batch_size=10) == 2e7
    assert three.cycles(client, 20, batch_size=10) == pytest.approx(2e7 * 48 / WEIGHTS, rel=1e-12)


def test_the_load_of_the_whole_model_is_computed_once():
    workload = cloud_of().workload
    assert workload.of() is workload.of(None, {})


def test_coding_adds_cycles_and_codes_uploads_alone():
    """128 weights at 4 bits and a norm; the same cycles for a client and for all of a cell."""
    cloud = cloud_of(cycles=CyclesPerStep(step_cycles=1e6), codec=cosim.codecs.Qsgd(cycles_per_value=7.5))
    clients, load = cloud.edges[0].clients, cloud.workload.of()
    assert load.upload == (WEIGHTS, 32 + 4 * WEIGHTS)
    assert load.download == (WEIGHTS, 32 * WEIGHTS)
    each = [load.cycles(client, 3, batch_size=10) for client in clients]
    many = 3 * load.step_cycles(clients.names, 10) + load.coding_cycles
    assert each == [3e6 + 7.5 * WEIGHTS] * len(clients) == many.tolist()


def test_sizes_are_planned_only_where_units_add_up_to_the_model():
    sizes = cosim.Hist(
        training=small_system().protocol.training, submodel_sizes=cosim.protocols.LatencyOptimal()
    )
    cloud_of(protocol=sizes, codec=cosim.codecs.BFloat16())
    with pytest.raises(ConfigurationError, match=r"LatencyOptimal: plans with a fixed number of bits.* TopK"):
        cloud_of(protocol=sizes, codec=cosim.codecs.TopK(kept=cosim.codecs.KeptNumber(num_values=10)))


def test_units_add_up_to_the_model():
    """Nothing of this network is uncut; eight units are all of it, for cycles and bits alike."""
    cloud = cloud_of()
    (client, *_) = cloud.edges[0].clients
    uncut, unit = cloud.workload.by_units("hidden1")
    whole = cloud.workload.of()
    assert (uncut.cycles(client, 1, 10), uncut.upload) == (0.0, (0, 0))
    assert 8 * unit.cycles(client, 1, 10) == pytest.approx(whole.cycles(client, 1, 10), rel=1e-12)
    assert 8 * unit.upload.bits == whole.upload.bits


def test_operations_of_units_that_are_not_chosen_are_refused():
    cloud = cloud_of(cycles=CyclesPerOperation())
    _, unit = cloud.workload.by_units("hidden1")
    with pytest.raises(ConfigurationError, match="operations of units that are not chosen yet are unknown"):
        unit.cycles(cloud.edges[0].clients[0], 1, 10)


class Thirds(cosim.codecs.Uncompressed):
    """A third of a bit for each value."""

    def bits(self, num_values):
        """Not a whole number."""
        return num_values / 3.0


def test_bits_are_rounded_up_once_for_a_payload_and_not_for_a_plan():
    """128 weights in 42 2/3 bits are sent as 43, and the record says so; a unit's 16 are planned as 5 1/3."""
    cloud = cloud_of(codec=Thirds())
    assert cloud.workload.of().upload.bits == 43
    _, unit = cloud.workload.by_units("hidden1")
    assert unit.upload.bits == pytest.approx(16 / 3, rel=1e-12)
    transfers = cosim.run(evolve(small_system(), codec=Thirds(), evaluation=Never())).transfers
    assert set(transfers["payload_bits"]) == set(transfers["sent_bits"]) == {43}


def test_a_payload_of_a_fraction_of_a_bit_is_refused():
    asked = {"route": None, "job": Job(1, 0, 0), "request": None, "cycles": 1.0, "download": Payload(1, 32)}
    assert Assignment(**asked, payload=Payload(1, 32.0)).payload.bits == 32
    with pytest.raises(ConfigurationError, match=r"Assignment.payload has 10.5 bits: must be a whole number"):
        Assignment(**asked, payload=Payload(1, 10.5))


def test_a_network_in_two_parts_carries_a_number_per_sample_and_output():
    """vertical-4-3-8-5: clients hold 3-8-5 and 10-8-1 without biases; 5 outputs of the server per sample."""
    from cosim.values.submodels import NetworkShape

    shape = NetworkShape({"central.w": (4, 8), "local.w": (3, 8), "local.v": (13, 1)}, num_central_outputs=5)
    workload = attrs.evolve(cloud_of().workload, shape=shape)
    load = workload.of_clients_part(num_samples=7)
    assert load.upload == load.download == (24 + 13 + 35, 32 * (24 + 13 + 35))
    assert load.fraction == 1.0
