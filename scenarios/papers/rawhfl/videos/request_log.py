"""Request log: the users' requests up to an instant of the clock, and the samples that follow from them.

Time is cut into slots; at the end of each a user is active with its own probability and then makes one
request (`request_model`). Every request adds one sample to the user's data (RawHFL paper, eq. 1). Requests
depend only on the seed and the user, so they are drawn on demand, for all slots that have ended by then,
including a slot that ends at this instant.

Scope and limitations: no user waits for a video, and watching takes a slot.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cosim.clock.instants import duration_between, num_periods
from cosim.clock.simulation import Simulation
from cosim.configuration import ConfigurationError
from scenarios.papers.rawhfl.videos.request_model import RequestModel, user_name

MOST_SLOTS = 100_000
"""Most slots of a log: a slot of 48 users takes about a tenth of a millisecond. [no source]"""


class RequestLog:
    """Requests of all users so far.

    Args:
        sim: Simulation; slots begin now.
        model: Catalogue and users.
        slot_s: Length of a slot.
        num_past_requests: Requests of every user before the first slot.
    """

    def __init__(
        self, sim: Simulation, model: RequestModel, *, slot_s: float, num_past_requests: int
    ) -> None:
        self.model = model
        self._sim = sim
        self._slot_s = slot_s
        self._start_s, self._num_ended = sim.now_s, 0
        num_users = len(model.users.similar_probability)
        self._users = np.arange(num_users)
        self._streams = [sim.stream(user_name(number), "requests") for number in range(num_users)]
        self._samples: list[list[int]] = []
        last = []
        for number in range(num_users):
            rng = sim.stream(user_name(number), "past requests")
            past = self.model.sequence(number, num_past_requests, rng)
            self._samples.append(self.model.samples(number, past).tolist())
            last.append(past[-1])
        self._last = np.array(last)

    def samples(self, users: Sequence[int]) -> NDArray[np.int64]:
        """Samples of these users at this instant, read-only.

        Raises:
            ConfigurationError: Too many slots have passed: their requests would take minutes to draw.
        """
        num_ended = num_periods(duration_between(self._start_s, self._sim.now_s), self._slot_s)
        num_slots = num_ended - self._num_ended
        if num_slots > MOST_SLOTS:
            raise ConfigurationError(
                f"VideoRequests.slot_s = {self._slot_s:g}: {num_slots:.3g} slots passed within one "
                f"round, but {MOST_SLOTS:,} is the limit. Use a link over which updates arrive, a "
                "deadline of minutes, or a longer slot.",
                "VideoRequests.slot_s",
            )
        while self._num_ended < num_ended:
            self._end_slot()
        held = np.array([sample for user in users for sample in self._samples[user]], dtype=np.int64)
        held.flags.writeable = False
        return held

    def _end_slot(self) -> None:
        self._num_ended += 1
        u_active, u_similar, u_genre = np.array([stream.random(3) for stream in self._streams]).T
        active = np.flatnonzero(u_active < self.model.users.active_probability)
        before = self._last[active]
        now = self.model.next(active, before, u_similar[active], u_genre[active])
        num_contents = self.model.catalog.num_contents
        for user, previous, content in zip(active.tolist(), before.tolist(), now.tolist(), strict=True):
            self._samples[user].append((user * num_contents + previous) * num_contents + content)
        self._last[active] = now
