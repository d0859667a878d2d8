"""Unicast: by arithmetic, in fixed and redivided shares, with rounds that count it and that do not."""

import math

import attrs
import pytest
from downlinks import down, timed

import cosim
from cosim import ConfigurationError
from cosim.testing import small_system
from scenarios.papers.rawhfl import RawHfl

pytestmark = pytest.mark.quick

BITS = 32 * (12 * 8 + 8 * 4)
BANDWIDTH_HZ = 1e5
LEVELS_DB = (20.0, 3.0, 10.0, 0.0, 30.0)
STILL = cosim.radio.Unicast(
    sharing=cosim.FixedShares(bandwidth_hz=BANDWIDTH_HZ),
    link=cosim.GivenSnr(snr_db=cosim.PerClient(values=LEVELS_DB)),
    fading=cosim.radio.NoFading(),
)
SIZES = {"edge-00": 3, "edge-01": 2}


def alone_s(client: str) -> float:
    """With the whole band."""
    return BITS / (BANDWIDTH_HZ * math.log2(1.0 + 10.0 ** (LEVELS_DB[int(client[-4:])] / 10.0)))


def test_each_has_its_share_of_the_band_and_the_snr_of_the_whole():
    for row in down(timed(small_system(), downlink=STILL)).itertuples():
        assert row.end_s - row.start_s == pytest.approx(SIZES[row.edge] * alone_s(row.client), rel=1e-9)


def test_a_link_budget_spreads_the_power_over_the_band():
    """So that n clients in n-ths of the band last n times as long as one alone in it."""
    budget = attrs.evolve(STILL, link=cosim.radio.LinkBudget(), tx_power_w=1e-6)
    training = attrs.evolve(
        small_system().protocol.training, selection=cosim.selection.RoundRobin(num_participants=1)
    )
    lasts_s = {}
    for name, protocol in (("all", small_system().protocol), ("one", cosim.HFedAvg(training=training))):
        received = down(timed(small_system(), downlink=budget, protocol=protocol))
        lasts_s[name] = (received["end_s"] - received["start_s"]).groupby(received["client"]).mean()
    for client, one_s in lasts_s["one"].items():
        num = SIZES["edge-00" if int(client[-4:]) < 3 else "edge-01"]
        assert lasts_s["all"][client] == pytest.approx(num * one_s, rel=1e-9)


def test_redivided_shares_leave_nothing_idle():
    """All bits of a cell come through its band, the fastest first: fluid processor sharing by hand."""
    redivided = attrs.evolve(STILL, sharing=cosim.radio.RedividedShares(bandwidth_hz=BANDWIDTH_HZ))
    first = down(timed(small_system(), downlink=redivided))
    first = first[(first["job"] == 0) & (first["edge"] == "edge-01")].sort_values("end_s")
    fast_s, slow_s = sorted(map(alone_s, first["client"]))
    assert first["end_s"].tolist() == pytest.approx([2.0 * fast_s, fast_s + slow_s], rel=1e-9)


def test_resource_blocks_are_waited_for_without_power():
    blocks = attrs.evolve(STILL, sharing=cosim.radio.ResourceBlocks(num_blocks=1, block_hz=BANDWIDTH_HZ))
    result = timed(small_system(), downlink=blocks, devices=cosim.DrawnDevices(receive_w=0.5))
    spans = result.spans[result.spans["job"] == 0]
    received = spans[spans["activity"] == "receive"]
    assert received["energy_j"].tolist() == pytest.approx(
        [0.5 * alone_s(client) for client in received["node"]], rel=1e-9
    )
    waited = spans[(spans["activity"] == "wait") & (spans["node"] == "client-0002")]
    assert waited["end_s"].tolist() == pytest.approx([alone_s("client-0000") + alone_s("client-0001")])


def test_a_round_may_begin_when_all_have_received():
    """A deadline as long as a training and an upload; counted, the download is longer than that."""
    without = timed(small_system()).fates
    deadline_s = 1.01 * float((without["end_s"] - without["start_s"]).max())
    system = small_system(cosim.Deadline(deadline_s=deadline_s))
    assert set(timed(system, downlink=STILL).fates["outcome"]) == {"deadline"}
    free = timed(system, downlink=STILL, downloads_count=False)
    assert set(free.fates["outcome"]) == {"done"}
    trained = free.spans[(free.spans["activity"] == "train") & (free.spans["job"] == 0)]
    received = down(free)[down(free)["job"] == 0]
    for edge, num in SIZES.items():
        own = received[received["edge"] == edge]
        latest_s = max(num * alone_s(client) for client in own["client"])
        begun = trained[trained["node"].isin(own["client"])]
        assert begun["start_s"].to_numpy() == pytest.approx(latest_s, rel=1e-9)


def test_a_round_that_does_not_count_it_counts_its_energy_in_no_budget():
    """A client with a budget for training and sending alone does both, and receives for more."""
    devices = cosim.DrawnDevices(receive_w=1000.0)
    protocol = RawHfl(deadline_s=5.0, num_edge_rounds=1, local=cosim.Sgd(batch_size=5))
    system = attrs.evolve(small_system(), devices=devices, protocol=protocol)
    plain, with_down = timed(system), timed(system, downlink=STILL, downloads_count=False)
    assert set(plain.fates["outcome"]) == set(with_down.fates["outcome"]) == {"done"}
    spent = with_down.spans[with_down.spans["activity"] == "receive"]
    spent = spent[spent["job"] >= 0]
    assert spent["energy_j"].min() > max(protocol.energy_budget_j)
    assert with_down.plans["planned_s"].tolist() == plain.plans["planned_s"].tolist()


def test_clients_one_by_one_share_the_band_of_those_who_may_be_at_work():
    protocol = cosim.FedBuff(
        num_updates=2,
        training=cosim.ClientTraining(num_local_steps=3, local=cosim.Sgd(batch_size=5)),
        starts=cosim.protocols.ConstantConcurrency(num_in_flight=2),
    )
    system = small_system(has_rounds=False)
    received = down(timed(system, downlink=STILL, protocol=protocol))
    arrived = received[received["arrived"]]
    assert len(arrived) > 5
    for row in arrived.itertuples():
        assert row.end_s - row.start_s == pytest.approx(2.0 * alone_s(row.client), rel=1e-9)


@pytest.mark.parametrize(
    ("changes", "protocol", "message"),
    [
        (
            {"downloads_count": False, "end": cosim.AfterVersions(num_versions=2)},
            cosim.FedBuff(),
            r"downloads_count = false lets the clients of an edge round wait",
        ),
        (
            {"downlink": cosim.links.Instantaneous(), "downloads_count": False},
            cosim.HFedAvg(),
            r"downloads_count = False: has no effect with downlink = Instantaneous",
        ),
        ({}, RawHfl(), r"Unicast: no plan knows how long a download takes, and .*RawHfl plans"),
    ],
)
def test_protocols_that_cannot_are_refused(changes, protocol, message):
    with pytest.raises(ConfigurationError, match=message):
        attrs.evolve(small_system(), **{"downlink": STILL, "protocol": protocol} | changes)


def test_sums_are_no_downlink():
    with pytest.raises(
        ConfigurationError, match=r"Unicast.sharing = 'OverTheAir': a model is not sent as a sum"
    ):
        attrs.evolve(STILL, sharing=cosim.radio.OverTheAir())
