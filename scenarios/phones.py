"""Phones: which are present, whose battery lasts, and what does it cost to send models down?

40 phones that come and go on batteries, and 20 sensors that stay, slow and on the mains, learn scikit-learn's
handwritten digits by HIST. Models are broadcast, rounds have a deadline, and devices take power at rest. No
number has a source.

    cosim run phones
    cosim report runs/phones-1
    cosim study phones --over devices.some.battery.charge_w=0.1,0.2 --seeds 5
"""

from cosim import (
    AfterRounds,
    Deadline,
    Digits,
    DrawnDevices,
    EdgeTraining,
    FixedShares,
    Hist,
    PerGroup,
    Radio,
    Rayleigh,
    SameSteps,
    Sgd,
    System,
)
from cosim.devices import Battery, CyclesPerStep, Mixture, OnOff, SamePower
from cosim.queues import Exponential
from cosim.radio import Broadcast, EveryEdgeRound


def system() -> System:
    """The configuration."""
    fading = Rayleigh(num_antennas=4, redrawn=EveryEdgeRound())
    return System(
        num_cells=3,
        num_clients=60,
        model="relu-64-32-10",
        data=Digits(),
        devices=Mixture(
            share=2 / 3, some=phones(), some_name="phone", others=sensors(), others_name="sensor"
        ),
        cycles=CyclesPerStep(step_cycles=1e9),
        downlink=Broadcast(bandwidth_hz=200e3, fading=fading),
        uplink=Radio(sharing=FixedShares(bandwidth_hz=1e6), fading=fading),
        protocol=Hist(
            training=EdgeTraining(
                num_edge_rounds=3,
                steps=SameSteps(num_local_steps=10),
                local=Sgd(batch_size=10, learning_rate=0.1),
                waiting=Deadline(deadline_s=8.0),
            )
        ),
        end=AfterRounds(num_global_rounds=40),
    )


def phones() -> DrawnDevices:
    """Fast, on a battery, and there for a quarter of an hour at a time."""
    return DrawnDevices(
        min_frequency_hz=PerGroup(values=(1e9,)),
        max_frequency_hz=PerGroup(values=(2e9,)),
        tx_power=SamePower(power_w=0.2),
        receive_w=0.3,
        idle_w=0.15,
        sleep_w=0.01,
        sleeps_after_s=30.0,
        presence=OnOff(on=Exponential(rate_per_s=1 / 900), off=Exponential(rate_per_s=1 / 300)),
        battery=Battery(capacity_j=100.0, initial_share=0.8, charge_w=0.1, returns_at_share=0.3),
    )


def sensors() -> DrawnDevices:
    """Slow, on the mains, and always there."""
    return DrawnDevices(
        min_frequency_hz=PerGroup(values=(0.3e9,)),
        max_frequency_hz=PerGroup(values=(0.8e9,)),
        tx_power=SamePower(power_w=0.05),
        receive_w=0.05,
        idle_w=0.02,
    )
