"""Efforts: what jobs take of devices, asked at the instants at which they begin, by events and on arrays.

The one place where parts of devices are asked about jobs: `Processor`, `TrainingTime` and `PowerControl`. A
device without them computes at its highest frequency, or at the one that a protocol asks for, as long as
planned, and sends at its highest power, or at the one that is asked for.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.devices.power_control import Sendings
from cosim.devices.processor import Trainings, computing_w
from cosim.jobs.client_jobs import SomeClients
from cosim.jobs.job import Job

if TYPE_CHECKING:
    from cosim.engine.clients.client import Client


def planned_of(sim: Simulation, jobs: Trainings, clients: SomeClients) -> NDArray[np.float64]:
    """How long trainings are planned to take, shape (clients,)."""
    plain_s = jobs.cycles / jobs.frequency_hz
    if clients.fleet.devices.are_plain("processor"):
        return plain_s
    return _asked(sim, clients, "processor", "duration_s", jobs, plain_s)


def effort_of(
    sim: Simulation,
    clients: SomeClients,
    job: Job,
    begins_s: NDArray[np.float64],
    cycles: NDArray[np.float64],
    asked_hz: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times and powers of trainings that begin at these instants; arrays have shape (clients,).

    Args:
        asked_hz: Frequencies that a protocol asks for. None means the highest.
    """
    fleet, devices = clients.fleet, clients.fleet.devices
    jobs = Trainings(fleet, clients.which, job, begins_s, cycles, asked_hz)
    lasts_s, power_w = planned_of(sim, jobs, clients), jobs.computing_w(jobs.frequency_hz)
    if not devices.are_plain("processor"):
        power_w = _power_w("Processor", _asked(sim, clients, "processor", "power_w", jobs, power_w))
    if not devices.are_plain("training_time"):
        jobs = Trainings(fleet, clients.which, job, begins_s, lasts_s)
        of = jobs, lasts_s, lambda own: (job, own.cycles)
        lasts_s = _asked(sim, clients, "training_time", "training_s", *of)
    return lasts_s, power_w


def effort_of_one(
    sim: Simulation, client: "Client", job: Job, cycles: float, asked_hz: float | None
) -> tuple[float, float]:
    """Time and power of one client's training that begins now."""
    device = client.device
    if device.processor is None and device.training_time is None:
        if asked_hz is None:
            return cycles / device.frequency_hz, device.train_w
        return cycles / asked_hz, computing_w(device, asked_hz)
    asked = None if asked_hz is None else np.array([asked_hz])
    begins_s = np.array([sim.now_s])
    lasts_s, power_w = effort_of(sim, client.alone, job, begins_s, np.array([cycles]), asked)
    return lasts_s.item(), power_w.item()


def sending_w(
    sim: Simulation,
    clients: SomeClients,
    job: Job,
    begins_s: NDArray[np.float64],
    payload_bits: float,
    asked_w: NDArray[np.float64] | None = None,
) -> NDArray[np.float64] | None:
    """Transmit powers of uploads that begin at these instants, shape (clients,); None for plain ones.

    Args:
        asked_w: Powers that a protocol asks for. None means the highest.
    """
    if clients.fleet.devices.are_plain("power_control"):
        return None
    jobs = Sendings(clients.fleet, clients.which, job, begins_s, payload_bits, asked_w)
    found = _asked(sim, clients, "power_control", "power_w", jobs, jobs.power_w)
    return _power_w("PowerControl", found)


def sending_w_of_one(
    sim: Simulation, client: "Client", job: Job, payload_bits: float, asked_w: float | None
) -> float:
    """Transmit power of an upload of one client that begins now."""
    if client.device.power_control is None:
        return client.device.tx_power_w if asked_w is None else asked_w
    asked = None if asked_w is None else np.array([asked_w])
    found = sending_w(sim, client.alone, job, np.array([sim.now_s]), payload_bits, asked)
    assert found is not None
    return found.item()


def _asked(
    sim: Simulation,
    clients: SomeClients,
    name: str,
    method: str,
    jobs: Any,
    plain: NDArray[np.float64],
    told: Callable[[Any], tuple[Any, ...]] = lambda own: (own,),
) -> NDArray[np.float64]:
    """Values of the clients that have such a part, and plain values for the others, shape (clients,).

    Args:
        name: Of the part, as a field of devices.
        method: Of the part, which is asked.
        told: What it is told of jobs.
    """
    found = np.array(plain)
    for part, have_it in clients.fleet.devices.kinds_of(name):
        if part is None:
            continue
        own, names, of = slice(None), clients.names, jobs
        if have_it is not None:
            own = np.flatnonzero(have_it[clients.which])
            names, of = names.some(own), jobs.some(own)
        if not len(names):
            continue
        said = getattr(part, method)(sim, names, *told(of))
        if np.shape(said) != (len(names),):
            raise ConfigurationError(
                f"{type(part).__name__}.{method} gives {said!r:.80}: must be a number for each of "
                f"{len(names)} clients. Use @for_each for a rule about one client."
            )
        found[own] = said
    return found


def _power_w(port: str, power_w: NDArray[np.float64]) -> NDArray[np.float64]:
    fits = (power_w >= 0.0) & (power_w < math.inf)
    if not fits.all():
        raise ConfigurationError(
            f"{port}.power_w gives {power_w[~fits][0]:g} W: must be finite and at least 0. Use "
            "np.clip(power_w, 0.0, most_w)."
        )
    return power_w
