"""Arrivals: the laws of packets of the public that a part of a network brings, by itself."""

import math
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from cosim.queues.arrivals import Arrivals
from cosim.testing.laws.broken import broken

NUM_STREAMS, NUM_PACKETS = 20, 1_000
_LEVEL = 1e-6
"""Probability that a correct part breaks a law that is decided by draws."""


def check_stream(arrivals: Arrivals) -> None:
    """Check that packets come in order, as often as the part says, and a Poisson stream if it says so.

    Twenty streams of up to 1,000 packets are looked at. Their mean rate may differ from what the part says by
    1 %, for the burst in which a stream is cut, and by what chance explains over the streams, at 1e-6.

    Raises:
        BrokenLaw: The first law that is broken.
    """
    streams = [_gaps_s(arrivals, seed) for seed in range(NUM_STREAMS)]
    if any(not np.array_equal(own, _gaps_s(arrivals, seed)) for seed, own in enumerate(streams)):
        raise broken("own draws", "a stream of the same generator differs", "draws of a generator of its own")
    for own in streams:
        if not ((own >= 0.0) & (own < math.inf)).all():
            place = int(np.flatnonzero(~((own >= 0.0) & (own < math.inf)))[0])
            raise broken("order", f"gap {place} is {own[place]} s", "gaps that are not finite and 0 or above")
    _check_rate(streams, arrivals.mean_rate_per_s)
    if arrivals.is_poisson and any(map(len, streams)):
        _check_poisson(streams, arrivals.mean_rate_per_s)


def _gaps_s(arrivals: Arrivals, seed: int) -> NDArray[np.float64]:
    return np.array([*islice(arrivals.gaps_s(np.random.default_rng(seed)), NUM_PACKETS)], dtype=np.float64)


def _check_rate(streams: list[NDArray[np.float64]], claimed_per_s: float) -> None:
    """Numbers of packets in the time that the claimed rate takes for all of a stream, against that number."""
    if not math.isfinite(claimed_per_s) or claimed_per_s < 0.0:
        raise broken("rate", f"mean_rate_per_s = {claimed_per_s}", "a rate that is not finite and 0 or above")
    if claimed_per_s == 0.0 or not any(map(len, streams)):
        if claimed_per_s > 0.0 or any(map(len, streams)):
            said = f"mean_rate_per_s = {claimed_per_s:g}, and {len(streams[0])} packets came"
            raise broken("rate", said, "a rate of another stream")
        return
    num, took_s = np.array([[len(own), own.sum()] for own in streams]).T
    more = num - claimed_per_s * took_s
    error = float(more.std(ddof=1)) / math.sqrt(len(streams))
    margin = float(stdtrit(len(streams) - 1, 1.0 - _LEVEL / 2.0)) * error + 0.01 * num.mean()
    if abs(more.mean()) > margin:
        said = f"mean_rate_per_s = {claimed_per_s:g}, and {num.sum() / took_s.sum():.4g} packets came in 1 s"
        raise broken("rate", said, "a rate of another stream")


def _check_poisson(streams: list[NDArray[np.float64]], rate_per_s: float) -> None:
    from scipy import stats  # most of a second, which contracts of other parts save

    if stats.kstest(np.concatenate(streams) * rate_per_s, "expon").pvalue < _LEVEL:
        raise broken("Poisson", "is_poisson, and gaps are not exponential", "a stream that is none")
