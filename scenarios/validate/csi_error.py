"""Do planned uploads fail as often as a normal tail in dB says, and does dividing by p_sc mend the mean?

Plans know the gains but for a normal error in dB, and take a margin off. The optimum ends exactly at the
deadline, so an update arrives where the error does not eat the margin. For several errors and margins, with
outages, with static power and with budgets that bind, the clock's share of updates that arrive must be the
closed form's; intervals are exact, at a level at which all points together err with probability 5 % at most.
Wrong theories (no margin, the other tail, nepers for decibels, no budget) must come out as *disagrees*.

Then the idea of eq. 15: on the arrivals of the clock, updates divided by the probability of the closed form
must give the mean update on average; updates that are not divided must not. The protocol's own estimate of
that probability is tested in `tests/papers/rawhfl/test_raw_hfl.py`.

    cosim validate csi-error
"""

from collections.abc import Callable
from statistics import NormalDist

import attrs
import numpy as np
import pandas as pd
from rich.table import Table

import cosim
import models
from analysis.closed_forms.planned_upload import PlannedUpload
from analysis.intervals.statistics import Interval, binomial, familywise, t_interval
from cosim.configuration import at_least, knob, not_negative, part
from cosim.devices.processor import computing_w
from cosim.engine.learning.learner import Learner
from cosim.engine.run.ground import ground_of
from cosim.engine.run.nodes import nodes_of
from cosim.engine.servers.cloud import Cloud
from cosim.engine.store.row_groups import RowGroups
from cosim.jobs.job import Job
from cosim.training.sgd import Sgd
from cosim.values.pending import PendingUpdate
from scenarios.command_line.console import console
from scenarios.papers.rawhfl import RawHfl, ResourceAware
from scenarios.papers.rawhfl.accumulated import accumulate

__all__ = ["Options", "main"]

NUM_CLIENTS = 12
FAMILY_ERROR = 0.05
MARGIN = 0.05
"""Half width at which a point decides."""


@part
class Options:
    """Size of the simulation.

    Attributes:
        num_edge_rounds: Edge rounds of 12 clients, for each point.
        seed: Names places, errors and outages.
    """

    num_edge_rounds: int = knob(at_least(10), default=500)
    seed: int = knob(not_negative, default=1)


@attrs.frozen(kw_only=True)
class Point:
    """One setting."""

    csi_error_db: float
    margin_db: float
    outage_probability: float = 0.0
    static_power_w: float = 0.0
    energy_budget_j: float = 10.0


POINTS = (
    *(Point(csi_error_db=x, margin_db=m) for x in (2.0, 4.0, 6.0) for m in (0.0, 3.0, 6.0)),
    Point(csi_error_db=4.0, margin_db=3.0, outage_probability=0.1),
    Point(csi_error_db=6.0, margin_db=0.0, static_power_w=0.02, energy_budget_j=1.0),
    Point(csi_error_db=6.0, margin_db=1.0, static_power_w=0.002, energy_budget_j=0.5),
    Point(csi_error_db=0.0, margin_db=0.0),
)


def system(point: Point, options: Options, place: int = 0) -> cosim.System:
    """System of 12 clients of one cell that take part in every edge round, over gains that never change.

    Points have seeds of their own, so that their errors are independent.
    """
    return cosim.System(
        seed=options.seed * len(POINTS) + place,
        num_cells=1,
        num_clients=NUM_CLIENTS,
        model="relu-12-8-4",
        data=cosim.data.Synthetic(split=cosim.data.Iid()),
        topology=cosim.topology.Disc(cell_radius_m=400.0),
        cycles=cosim.devices.CyclesPerBit(cycles_per_bit=(25.0, 40.0)),
        devices=cosim.DrawnDevices(
            min_frequency_hz=cosim.PerGroup(values=(1.2e9,)),
            max_frequency_hz=cosim.PerGroup(values=(2.0e9,)),
            static_power_w=point.static_power_w,
            tx_power=cosim.devices.SamePower(power_w=1.0),
        ),
        codec=cosim.codecs.Uncompressed(bits_per_parameter=60_000),
        uplink=cosim.Radio(
            sharing=cosim.radio.ResourceBlocks(num_blocks=NUM_CLIENTS),
            link=cosim.radio.LinkBudget(
                large_scale=cosim.radio.LargeScale(environment="uma", shadowing=False)
            ),
            fading=cosim.radio.NoFading(),
            csi_error_db=point.csi_error_db,
            outage_probability=point.outage_probability,
        ),
        protocol=RawHfl(
            num_edge_rounds=options.num_edge_rounds,
            max_local_rounds=5,
            energy_budget_j=(point.energy_budget_j,),
            policy=ResourceAware(margin_db=point.margin_db, num_repeated=NUM_CLIENTS),
        ),
        end=cosim.AfterRounds(num_global_rounds=1),
        evaluation=cosim.Never(),
    )


def simulate(of: cosim.System) -> tuple[Cloud, cosim.Result]:
    """The network, and what it did."""
    ground = ground_of(of)
    sim, dataset = ground.sim, of.data.load(ground.sim, None)
    learner = Learner(models.build(of.model), dataset)
    cloud = nodes_of(of, ground, learner, lambda: dataset)
    sim.run(of.protocol.run(sim, cloud))
    return cloud, RowGroups(sim.recorder, of.num_clients).result({}, "complete", sim.now_s)


def predict(of: cosim.System, cloud: Cloud, result: cosim.Result) -> list[PlannedUpload]:
    """The closed form of every client's plan, which is the same in all edge rounds."""
    plans = {
        plan["client"]: plan for plan in result.plans[result.plans["edge_round"] == 0].to_dict("records")
    }
    assert isinstance(of.protocol, RawHfl)
    assert isinstance(of.uplink, cosim.Radio)
    link = cloud.edges[0].route.uplink.link.known_to("the closed form")
    bandwidth_hz = link.share_hz(NUM_CLIENTS)
    load, uploads = cloud.workload.of(), []
    snr_per_w = link.snr_per_w(slice(None), bandwidth_hz, Job(1, 0, 0)).tolist()
    for client, snr in zip(cloud.edges[0].clients, snr_per_w, strict=True):
        plan = plans[client.name]
        if not plan["is_selected"]:
            continue
        train_s = load.cycles(client, plan["num_steps"], 320) / plan["frequency_hz"]
        uploads.append(
            PlannedUpload(
                snr=snr * plan["tx_power_w"],
                payload_bits=load.upload.bits,
                bandwidth_hz=bandwidth_hz,
                train_s=train_s,
                deadline_s=of.protocol.deadline_s,
                csi_error_db=of.uplink.csi_error_db,
                energy_budget_j=of.protocol.energy_budget_j[0],
                train_j=train_s * computing_w(client.device, plan["frequency_hz"]),
                send_w=plan["tx_power_w"] + client.device.static_power_w,
                outage_probability=of.uplink.outage_probability,
            )
        )
    return uploads


WRONG_THEORIES: dict[str, Callable[[PlannedUpload], float]] = {
    "no margin": lambda plan: attrs.evolve(plan, snr=plan.needed_snr).success_rate,
    "the other tail": lambda plan: attrs.evolve(plan, snr=plan.needed_snr**2 / plan.snr).success_rate,
    "nepers": lambda plan: (
        attrs.evolve(plan, csi_error_db=plan.csi_error_db * np.log(10.0) / 10.0).success_rate
    ),
    "no budget": lambda plan: attrs.evolve(plan, energy_budget_j=None).success_rate,
}


def compare(options: Options) -> pd.DataFrame:
    """A row per point: the share that arrived, verdicts on the closed form and on wrong theories."""
    level = familywise(len(POINTS), FAMILY_ERROR)
    rows = []
    for place, point in enumerate(POINTS):
        of = system(point, options, place)
        with console.status(f"sigma {point.csi_error_db:g} dB, margin {point.margin_db:g} dB"):
            cloud, result = simulate(of)
        theory = predict(of, cloud, result)
        # Clients' rates may differ where budgets bind; the exact interval of one rate is then too wide.
        arrived = binomial(int(result.uploads["arrived"].sum()), len(result.uploads), level)
        rate = float(np.mean([plan.success_rate for plan in theory]))
        row = attrs.asdict(point) | {"closed_form": rate, "interval": arrived}
        row["verdict"] = arrived.verdict(rate, MARGIN)
        # The closed form takes powers from the plans; whether they keep their margin is asked here.
        if not point.static_power_w and abs(rate - promised(point)) > 1e-6:
            row["verdict"] = "disagrees"
        for name, wrong in WRONG_THEORIES.items():
            row[name] = arrived.verdict(float(np.mean([wrong(plan) for plan in theory])))
        rows.append(row)
    return pd.DataFrame(rows)


def promised(point: Point) -> float:
    """Success rate of an optimum that sends until the deadline, so that just the margin is left."""
    if point.csi_error_db == 0.0:
        return 1.0 - point.outage_probability
    return (1.0 - point.outage_probability) * NormalDist(0.0, point.csi_error_db).cdf(point.margin_db)


def mean_update(options: Options) -> dict[str, Interval]:
    """Length of the mean update along the one without losses, with and without the correction, 99.9 %."""
    of = system(Point(csi_error_db=4.0, margin_db=1.0), options)
    cloud, result = simulate(of)
    rate = {
        c.name: p.success_rate
        for c, p in zip(cloud.edges[0].clients, predict(of, cloud, result), strict=True)
    }
    learner, start = cloud.learner, cloud.learner.initial_model(1)
    updates = {
        client.name: PendingUpdate(
            client=client.name,
            model=start,
            samples=client.samples,
            num_steps=5,
            training=Sgd(batch_size=50, learning_rate=0.1),
            key=1,
        )
        for client in cloud.edges[0].clients
    }

    def change(names: list[str], coefficients: list[float]) -> np.ndarray:
        """Change of the initial model by an edge round's updates."""
        model = accumulate(start, [updates[name] for name in names], coefficients)
        moved, before = learner.weights(model), learner.weights(start)
        return np.concatenate([(moved[name] - before[name]).ravel() for name in before])

    own = {name: change([name], [1.0 / NUM_CLIENTS]) for name in updates}
    whole = np.sum(list(own.values()), axis=0)
    along = {name: float(step @ whole / (whole @ whole)) for name, step in own.items()}
    arrived = result.uploads[result.uploads["arrived"]]
    lengths: dict[str, list[float]] = {"divided by p_sc": [], "not divided": []}
    for edge_round in range(options.num_edge_rounds):
        names = arrived[arrived["edge_round"] == edge_round]["client"]
        lengths["divided by p_sc"].append(sum(along[name] / rate[name] for name in names))
        lengths["not divided"].append(sum(along[name] for name in names))
    return {name: t_interval(values, 0.999) for name, values in lengths.items()}


def main(options: Options) -> int:
    """Print the comparison; exit code 1 where a verdict is not what it must be."""
    rows = compare(options)
    table = Table(
        title=f"Planned uploads that arrive, {options.num_edge_rounds} edge rounds of {NUM_CLIENTS}"
    )
    for heading in ("sigma", "margin", "outage", "static", "budget", "closed form", "arrived", "verdict"):
        table.add_column(heading, justify="right")
    for row in rows.to_dict("records"):
        arrived = row["interval"]
        table.add_row(
            f"{row['csi_error_db']:g} dB",
            f"{row['margin_db']:g} dB",
            f"{row['outage_probability']:g}",
            f"{row['static_power_w']:g} W",
            f"{row['energy_budget_j']:g} J",
            f"{row['closed_form']:.4f}",
            f"{arrived.estimate:.4f} [{arrived.low:.4f}, {arrived.high:.4f}]",
            row["verdict"],
        )
    console.print(table)
    agrees = bool((rows["verdict"] == "agrees").all())
    caught = {name: int((rows[name] == "disagrees").sum()) for name in WRONG_THEORIES}
    console.print(
        "Wrong theories, points at which they disagree: "
        + ", ".join(f"{name} {count}" for name, count in caught.items())
    )
    corrected = mean_update(options)
    for name, interval in corrected.items():
        console.print(
            f"Mean update, {name}: {interval.estimate:.4f} [{interval.low:.4f}, {interval.high:.4f}] of the "
            f"one without losses, {interval.verdict(1.0, MARGIN)}"
        )
    unbiased = corrected["divided by p_sc"].verdict(1.0, MARGIN) == "agrees"
    biased = corrected["not divided"].verdict(1.0) == "disagrees"
    return int(not (agrees and all(caught.values()) and unbiased and biased))
