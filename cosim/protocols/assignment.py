"""Assignment: the task of a client in one job, and the links that it uses."""

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
            "cloud.workload, or Codec.payload, which rounds it up."
        )


class Route(NamedTuple):
    """Links of a job between clients and their edge server.

    Attributes:
        edge: Name of the edge server.
        uplink: Link over which clients send.
        downlink: Link over which they receive; None means that models are there at once.
    """

    edge: str
    uplink: Way
    downlink: Way | None = None


@attrs.frozen(kw_only=True)
class Assignment:
    """Task of a client in one edge round.

    Attributes:
        route: Links that it uses.
        job: Number of the job and of its rounds.
        request: Makes a client's pending update, as of the instant at which it is called.
        cycles: Processor cycles of the training.
        download: Payload that is received first.
        payload: Payload of the upload.
        upload_deadline_s: Time limit of an upload from its own start; None means no limit.
        frequency_hz: CPU frequency; None means the client's highest.
        tx_power_w: Transmit power; None means the client's highest.
        energy_budget_j: Energy that the client may use before it stops; None means no limit.
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
"""Function that makes a client's pending update, as of the instant at which it is called."""
