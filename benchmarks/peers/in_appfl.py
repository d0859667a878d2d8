"""APPFL: the times of W4 by its virtual time (`appfl.vsim`), whose clients and server here train nothing."""

# pyright: reportMissingImports=false

import logging
import time
from typing import Any

from benchmarks.peers import work
from benchmarks.peers.entry import Told, asked, tell


class Client:
    """A client as the event loop sees it: a step of one second, times the factor of its profile."""

    def __init__(self, number: int) -> None:
        self._number = number

    def get_id(self) -> str:
        """Name of the client."""
        return str(self._number)

    def load_parameters(self, params: Any) -> None:
        """Take no model."""

    def train(self) -> None:
        """Train nothing."""

    def get_parameters(self) -> tuple[dict[str, Any], dict[str, float]]:
        """No model, and how long a step takes."""
        return {}, {"current_local_steps": 1, "compute_second_per_step": 1.0}


class Server:
    """A server as the event loop sees it, which is its own scheduler: it counts updates.

    Args:
        num_reports: Reports with which the run ends.
    """

    num_clients = 0

    def __init__(self, num_reports: int) -> None:
        self.scheduler, self._num_reports, self._num_left = self, num_reports, num_reports

    def set_num_clients(self, num_clients: int) -> None:
        """Take the number of reports of a round."""
        self.num_clients = num_clients

    def get_num_global_epochs(self) -> int:
        """Reports so far."""
        return self._num_reports - self._num_left

    def get_parameters(self, **_: Any) -> dict[str, Any]:
        """No model."""
        return {}

    def global_update(self, **_: Any) -> dict[str, Any]:
        """Count a report."""
        self._num_left -= 1
        return {}

    def training_finished(self) -> bool:
        """True if all reports have come."""
        return self._num_left <= 0


def timed(name: str) -> Told:
    """Times of versions by the constant profile, synchronous or with a buffer."""
    from appfl.vsim import AsyncSimDriver, ClientProfile, SyncSimDriver

    own, is_buffered = work.TIMES[name], name == "W4 buffer"
    clients = [Client(number) for number in range(own.num_clients)]
    durations_s = work.durations_s(own.num_clients)
    profiles = {
        client.get_id(): ClientProfile(compute_factor=float(own_s), bandwidth=0.0)
        for client, own_s in zip(clients, durations_s, strict=True)
    }
    server, logger = Server(own.num_versions * own.num_updates), logging.getLogger("peers")
    start_s = time.perf_counter()
    if is_buffered:
        driver = AsyncSimDriver(server, clients, profiles, own.num_clients, logger, base_step_time=1.0)
    else:
        driver = SyncSimDriver(
            server,
            clients,
            profiles,
            own.num_clients,
            logger,
            base_step_time=1.0,
            target_rounds=own.num_versions,
        )
    driver.run()
    times_s = [row["vtime"] for row in driver.history]
    times_s = times_s[own.num_updates - 1 :: own.num_updates] if is_buffered else times_s
    return Told(server.get_num_global_epochs(), time.perf_counter() - start_s, times_s=tuple(times_s))


if __name__ == "__main__":
    tell(timed(asked().name), "numpy", "appfl")
