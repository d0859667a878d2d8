"""Assignment: what a client is asked to do in one job, and the way of its bits."""

from collections.abc import Callable
from typing import Any, NamedTuple

import attrs

from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from cosim.jobs.cell import Client
from cosim.jobs.job import Job
from cosim.jobs.payload import Payload
from cosim.links.way import Way
from cosim.values.pending import PendingUpdate


def _whole_bits(_assignment: Any, attribute: Any, payload: Payload) -> None:
    if payload.bits != int(payload.bits):
        raise ConfigurationError(
            f"Assignment.{attribute.name} has {payload.bits:g} bits: must be a whole number. Use "
            "cloud.workload, or Codec.payload, which rounds up."
        )


class Route(NamedTuple):
    """The way of a job's bits between clients and their edge server.

    Attributes:
        edge: Name of the edge server.
        uplink: What they send over.
        downlink: What they receive over; None: models are with them at once.
    """

    edge: str
    uplink: Way
    downlink: Way | None = None


@attrs.frozen(kw_only=True)
class Assignment:
    """What a client is asked to do in one edge round.

    Attributes:
        route: The way of its bits.
        job: Which one it is.
        request: Makes a client's pending update, as of the instant at which it is called.
        cycles: What the training costs the processor.
        download: What is received first.
        payload: What is uploaded.
        upload_deadline_s: How long after its start an upload is given up; None: never.
        frequency_hz: CPU frequency; None: the client's highest.
        tx_power_w: Transmit power; None: the client's highest.
        energy_budget_j: What the client may spend, after which it stops; None: without limit.
    """

    route: Route
    job: Job
    request: "Request"
    cycles: float
    download: Payload = attrs.field(validator=_whole_bits)
    payload: Payload = attrs.field(validator=_whole_bits)
    upload_deadline_s: float | None = None
    frequency_hz: float | None = None
    tx_power_w: float | None = None
    energy_budget_j: float | None = None


Request = Callable[[Simulation, Client, Assignment], PendingUpdate]
"""Makes a client's pending update, as of the instant at which it is called."""
