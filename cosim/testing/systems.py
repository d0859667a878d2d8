"""Systems: the small ones that contracts run, with a downlink and with deadlines that cut some jobs.

Nothing is drawn in the quiet system but what the part under test draws, so what follows from a seed is the
part's. Its clients differ in processors and links, so that no two end at one instant.
"""

from contextlib import suppress
from typing import Any

import attrs

from cosim.client_values.port import PerClient
from cosim.configuration import ConfigurationError, lacks_in
from cosim.configuration.going_together import EVERY_UPDATE
from cosim.configuration.kinds import is_configuration
from cosim.data.synthetic import Synthetic
from cosim.devices.drawn_devices import DrawnDevices
from cosim.ends.after import AfterRounds, AfterSeconds, AfterVersions
from cosim.ends.evaluation_times import Never
from cosim.engine.run.run import run
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hfedavg import HFedAvg
from cosim.radio.downlink.unicast import Unicast
from cosim.radio.fading import NoFading
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.radio import Radio
from cosim.radio.sharing.shares import FixedShares
from cosim.records.rows import DONE
from cosim.results.result import Result
from cosim.system.needs import ClockKind
from cosim.system.system import System
from cosim.training.local_steps import SameSteps
from cosim.training.sgd import Sgd
from cosim.waiting.deadlines import Deadline
from cosim.waiting.port import WaitForAll, Waiting

PATIENT = WaitForAll()
LONG = Deadline(deadline_s=1.0)
"""A deadline that only lost updates of a small system miss."""


def small_system(waiting: Waiting = PATIENT, *, has_rounds: bool = True) -> System:
    """Five clients in two cells that learn synthetic classes in half a second, by federated averaging."""
    training = EdgeTraining(
        num_edge_rounds=2, steps=SameSteps(num_local_steps=3), local=Sgd(batch_size=10), waiting=waiting
    )
    return System(
        num_cells=2,
        num_clients=5,
        model="relu-12-8-4",
        data=Synthetic(),
        protocol=HFedAvg(training=training),
        end=AfterRounds(num_global_rounds=3) if has_rounds else AfterVersions(num_versions=6),
    )


FREQUENCIES_HZ = PerClient(values=(1.0e9, 1.5e9, 2.3e9, 1.2e9, 1.9e9))
UP = GivenSnr(snr_db=PerClient(values=(21.0, 24.0, 30.0, 18.0, 27.0)))
DOWN = Unicast(
    sharing=FixedShares(bandwidth_hz=2e6),
    link=GivenSnr(snr_db=PerClient(values=(30.0, 20.0, 26.0, 23.0, 33.0))),
    fading=NoFading(),
)


def quiet_system(*, has_rounds: bool = True, **parts: Any) -> System:
    """The small system with these parts, in which nothing else is drawn; with a downlink where it can be.

    Raises:
        ConfigurationError: The parts do not fit it.
    """
    waiting = LONG if "uplink" in parts and lacks_in(parts["uplink"], EVERY_UPDATE) else PATIENT
    quiet = attrs.evolve(
        small_system(waiting, has_rounds=has_rounds),
        devices=DrawnDevices(
            min_frequency_hz=FREQUENCIES_HZ,
            max_frequency_hz=FREQUENCIES_HZ,
            static_power_w=0.1,
            receive_w=0.05,
            idle_w=0.02,
        ),
        uplink=Radio(sharing=FixedShares(bandwidth_hz=2e6), link=UP, fading=NoFading()),
    )
    system = attrs.evolve(quiet, **parts)
    if "downlink" in parts:
        return system
    for counts in (True, False):
        with suppress(ConfigurationError):
            return attrs.evolve(system, downlink=DOWN, downloads_count=counts)
    return system


def cut_systems(system: System, network: Any = None) -> tuple[System, System]:
    """Two systems with a deadline: one that the slowest client of a cell misses, one that most miss.

    If no server waits for a round, the end of the run cuts the jobs under way.
    """
    usual = times_of(system, network)
    most_s = usual.summary.time_s
    ends_s = _ends_s(usual)
    with suppress(ConfigurationError):
        if len(ends_s) > 1:
            *_, last_s, latest_s = ends_s
            in_time_s = (last_s + latest_s) / 2.0 if last_s < 0.999 * latest_s else 1.5 * latest_s
            cut = _with_deadlines(system, in_time_s), _with_deadlines(system, 0.4 * latest_s)
            if cut[0] is not system:
                return cut
    return system, attrs.evolve(system, end=AfterSeconds(duration_s=0.6 * most_s))


def times_of(system: System, network: Any = None, clock: ClockKind = "events") -> Result:
    """A run of times alone; of a system with a part that reads losses, one that learns."""
    try:
        return run(attrs.evolve(system, evaluation=Never()), network, num_workers=1, clock=clock)
    except ConfigurationError as error:
        if "only times are asked for" in str(error):
            return run(system, network, num_workers=1, clock=clock)
        raise


def _ends_s(result: Result) -> list[float]:
    """How long each job of the first edge round lasts whose update arrives, in the cell that has most."""
    rounds = result.rounds[result.rounds["level"] == "edge"]
    jobs = result.fates[(result.fates["edge_round"] == 0) & (result.fates["outcome"] == DONE)]
    found: list[float] = []
    for node, own in rounds.groupby("node"):
        first = own.sort_values("start_s").iloc[0]
        of_round = (jobs["edge"] == node) & (jobs["global_round"] == first["global_round"])
        ends_s = sorted((jobs["end_s"][of_round] - first["start_s"]).tolist())
        found = ends_s if len(ends_s) > len(found) else found
    return found


def _with_deadlines(config: Any, deadline_s: float) -> Any:
    """A configuration in which rules that wait for all have a deadline."""
    changed = {}
    for attribute in attrs.fields(type(config)):
        value = getattr(config, attribute.name)
        if value in (PATIENT, LONG):
            changed[attribute.name] = Deadline(deadline_s=deadline_s)
        elif is_configuration(type(value)):
            own = _with_deadlines(value, deadline_s)
            if own is not value:
                changed[attribute.name] = own
    return attrs.evolve(config, **changed) if changed else config
