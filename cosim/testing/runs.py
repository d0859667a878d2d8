"""Runs: the laws of a whole system, whatever it is made of."""

import json
import pickle
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError, from_dict, to_dict
from cosim.configuration.json_form import check_reloads
from cosim.devices.cycles import LocalStep
from cosim.engine.run.run import run
from cosim.engine.servers.cloud import VersionReport
from cosim.engine.servers.workload import Costs
from cosim.names import ClientNames
from cosim.results.result import Result
from cosim.system.needs import ClockKind
from cosim.system.system import System
from cosim.testing.contract import contract
from cosim.testing.laws.activities import powers_are_the_devices, silent_cells
from cosim.testing.laws.asked import Asked
from cosim.testing.laws.broken import BrokenLaw, broken
from cosim.testing.laws.learned import weights_are_numbers
from cosim.testing.laws.names import check_names
from cosim.testing.laws.payloads import Payloads
from cosim.testing.laws.tables import LAWS, same_tables
from cosim.testing.laws.versions import check_weights
from cosim.testing.second_process import begin, same_elsewhere
from cosim.testing.systems import cut_systems, quiet_system, times_of

TIMES = "a draw that hangs on what was drawn before, or a set whose order is followed"
ON_ARRAYS = "a method of one event and one of arrays that do not say the same"
NUM_SEEDS = 5
"""With which a cell may happen to be left out."""
STATE = "state that no configuration and no checkpoint holds"


@contract
def check_system(system: System, network: Any = None) -> None:
    """Check all laws of runs on a system, which should be small: it runs about seven times.

    Args:
        network: What it trains. None means its model by name.

    Raises:
        BrokenLaw: The first law that is broken.
        ConfigurationError: The system cannot be run.
    """
    begin()
    round_trip(system)
    check_names(system)
    check_weights(system)
    _alone_as_among_others(system)
    asked, payloads = Asked(system), Payloads(system)
    with asked.noted():
        with payloads.noted():
            usual = run(system, network, num_workers=1, clock="events")
        payloads.check()
        _keeps_laws(usual)
        _every_cell_trains(system, network, usual)
        if system.evaluation.learns:
            weights_are_numbers(usual)
        on_arrays = False
        try:
            on_arrays = _on_both_clocks(system, network, usual)
            if system.evaluation.learns:
                _resumes(system, network, usual, on_arrays=on_arrays)
            else:
                _same_again(system, network, usual)
        except BrokenLaw:
            _same_at_once(system, network, usual, on_arrays=on_arrays)
            raise
    asked.check()
    same_elsewhere(system, network, usual)


def check_in_small(network: Any = None, *, has_rounds: bool = True, **parts: Any) -> None:
    """Check all laws of runs on parts, in a small system with a downlink and deadlines.

    Raises:
        BrokenLaw: The first law that is broken.
        ConfigurationError: The parts do not fit the small system.
    """
    begin()
    quiet = quiet_system(has_rounds=has_rounds, **parts)
    check_names(quiet)
    system, hasty = cut_systems(quiet, network)
    check_system(system, network)
    cut = times_of(hasty, network)
    _keeps_laws(cut)
    _on_both_clocks(hasty, network, cut)


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


def _alone_as_among_others(system: System) -> None:
    """Check that cycles of many clients equal the cycles of each asked for alone.

    Raises:
        BrokenLaw: A client's hang on the others.
    """
    everyone = Numbers.of(ClientNames(0, system.num_clients))
    costs = Costs(Simulation(system.seed), system.cycles)
    for step in (LocalStep(10, 1.0, lambda: 1000), LocalStep(3, 0.5, lambda: 500)):
        among = costs.of_clients(everyone, step).tolist()
        for client, own in zip(everyone, among, strict=True):
            if (alone := costs.of_clients(Numbers.of([client]), step).item()) != own:
                where = f"a step of {client} takes {own} cycles among others, {alone} alone"
                raise broken("own cycles", where, "a rule that reads how many clients it is asked for")


def _keeps_laws(result: Result) -> None:
    for law in (*LAWS, powers_are_the_devices):
        law(result)


def _every_cell_trains(system: System, network: Any, usual: Result) -> None:
    """Check that a client of every cell trains, with one seed or another."""
    silent = silent_cells(usual)
    for another in range(1, NUM_SEEDS):
        if not silent:
            return
        silent &= silent_cells(times_of(attrs.evolve(system, seed=system.seed + another), network))
    if silent:
        where = f"no client of cell {min(silent)} trains, whatever the seed"
        raise broken("cells", where, "a loop over the servers that leaves one out")


def _on_both_clocks(system: System, network: Any, usual: Result) -> bool:
    """Check that times are the same without learning, and on arrays; tell if it can run on these."""
    if usual.learned is not None:
        reason = "a time that hangs on weights"
        same_tables("timing only", usual, times_of(system, network), reason, learned=False)
    try:
        on_arrays = times_of(system, network, "arrays")
    except ConfigurationError as error:
        if str(error).startswith("clock = 'arrays'"):
            return False  # a part of it runs by events only
        raise
    same_tables("both clocks", usual, on_arrays, ON_ARRAYS, learned=False)
    return True


def _same_at_once(system: System, network: Any, usual: Result, *, on_arrays: bool) -> None:
    """Check that a run without a stop is the same when it is repeated, and on arrays."""
    same_tables("determinism", usual, run(system, network, num_workers=2, clock="events"), TIMES)
    _same_again(system, network, usual)
    if on_arrays:
        same_tables("both clocks", usual, run(system, network, clock="arrays"), ON_ARRAYS)


def _same_again(system: System, network: Any, usual: Result) -> None:
    """Check that a repeated run is the same, with simultaneous events in another order."""
    again = run(system, network, num_workers=2, clock="events", shuffle_ties=1)
    same_tables("determinism, with simultaneous events in another order", usual, again, TIMES)


def _resumes(system: System, network: Any, usual: Result, *, on_arrays: bool) -> None:
    """Check that a run that is stopped, at its beginning and halfway, and goes on is the same.

    Whatever else must change nothing is changed with it, so that fewer runs are needed: the clock, the number
    of workers, the order of simultaneous events.
    """
    stops = sorted({0, int(usual.evaluations["version"].iloc[-1]) // 2})
    try:
        _resume(system, network, usual, stops, clock="arrays" if on_arrays else "events")
    except BrokenLaw:
        for stop in stops:
            _resume(system, network, usual, [stop])
        raise


def _resume(
    system: System, network: Any, usual: Result, stops: Sequence[int], clock: ClockKind = "events"
) -> None:
    """Check that a run that is stopped after versions, begun on a clock, goes on by events as it would."""

    def stop(report: VersionReport) -> None:
        if report.version == stops[num_stopped]:
            raise KeyboardInterrupt

    law = f"resume after version {stops[-1]}"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        try:
            for num_stopped in range(len(stops)):
                is_begun = num_stopped > 0
                with suppress(KeyboardInterrupt):
                    run(
                        system,
                        network,
                        out=out,
                        resume=is_begun,
                        listener=stop,
                        clock=clock,
                        checkpoint_every=1,
                    )
            resumed = run(
                system, network, out=out, resume=True, clock="events", num_workers=2, shuffle_ties=1
            )
        except ConfigurationError as refused:
            raise broken(law, str(refused), STATE) from None
        same_tables(law, usual, resumed, STATE)
