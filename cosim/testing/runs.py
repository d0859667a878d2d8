"""Runs: the laws of a whole system, whatever it is made of."""

import json
import pickle
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from cosim.configuration import ConfigurationError, check_reloads, from_dict, to_dict
from cosim.data.synthetic import Synthetic
from cosim.devices.local_steps import SameSteps
from cosim.learning.local_training.local_training import Sgd
from cosim.protocols.edge_training import EdgeTraining
from cosim.protocols.hfedavg import HFedAvg
from cosim.results import Result
from cosim.running import run
from cosim.servers.end import AfterRounds, AfterVersions
from cosim.servers.evaluation_times import Never
from cosim.servers.waiting import WaitForAll, Waiting
from cosim.system import System
from cosim.testing.laws import LAWS, broken, same_tables

PATIENT = WaitForAll()
TIMES = "a draw that hangs on what was drawn before, or a set whose order is followed"


def small_system(waiting: Waiting = PATIENT, *, plays_rounds: bool = True) -> System:
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
        end=AfterRounds(num_global_rounds=3) if plays_rounds else AfterVersions(num_versions=6),
    )


def check_system(system: System, network: Any = None) -> None:
    """Check all laws of runs on a system, which should be small: it is played about eight times.

    Args:
        network: What it trains; None: its model by name.

    Raises:
        BrokenLaw: The first law that is broken.
        ConfigurationError: The system cannot be run.
    """
    round_trip(system)
    usual = run(system, network, num_workers=1)
    for law in LAWS:
        law(usual)
    for ties in (None, 1):
        again = run(system, network, num_workers=2, shuffle_ties=ties)
        order = "" if ties is None else ", with simultaneous events in another order"
        same_tables(f"determinism{order}", usual, again, TIMES)
    if not system.evaluation.learns:
        return
    _timing_only(system, network, usual)
    last = int(usual.evaluations["version"].iloc[-1])
    for stop_after in sorted({0, last // 2}):
        _resume(system, network, usual, stop_after)


def round_trip(system: System) -> None:
    """Check that a system comes back from its JSON form and from a pickle.

    Raises:
        BrokenLaw: Another one comes back.
    """
    try:
        check_reloads(system)
    except ConfigurationError as error:
        reason = "a class within a function, or values that are no fields"
        raise broken("round trip", str(error), reason) from None
    again = from_dict(System, json.loads(json.dumps(to_dict(system))))
    for form, found in (("its JSON form", again), ("a pickle", pickle.loads(pickle.dumps(system)))):
        if found != system:
            raise broken("round trip", f"another system comes back from {form}", "an __eq__ of its own")


def _timing_only(system: System, network: Any, usual: Result) -> None:
    try:
        timed = run(attrs.evolve(system, evaluation=Never()), network)
    except ConfigurationError as error:
        if "only times are asked for" in str(error):
            return  # a part that reads losses says so
        raise
    same_tables("timing only", usual, timed, "a time that hangs on weights", learned=False)


def _resume(system: System, network: Any, usual: Result, stop_after: int) -> None:
    def listener(report: Any) -> None:
        if report.version == stop_after:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        with suppress(KeyboardInterrupt):
            run(system, network, out=out, listener=listener, checkpoint_every=1)
        resumed = run(system, network, out=out, resume=True)
        reason = "state that no configuration and no checkpoint holds"
        same_tables(f"resume after version {stop_after}", usual, resumed, reason)
