"""Heavy tails: what means of a system's times are worth.

An upload of b bits at a rate W log2(1 + s g) lasts b / (W log2(1 + s g)), which for a small gain g is close
to b ln 2 / (W s g). So its k-th moment is finite where that of 1 / g is, and so is that of a round that waits
for the slowest of finitely many. Over M antennas of Rayleigh fading g is Gamma(M, 1), of density g^(M-1) near
0, and E[g^-k] is finite for k < M: with one antenna uploads have no mean, with two no variance. A rule of
waiting that gives up, an end at a time, and channels that change within uploads bound or mend it.

Scope and limitations: asks fading (`Fading.finite_moments`) and uplink (`Link.finite_moments`); a part that
does not say counts as harmless.

Validation: tests/system/test_heavy_tails.py, by integrals.
"""

from typing import Any

from cosim.configuration import asks_in
from cosim.configuration.going_together import EVERY_UPDATE

FIX = "Use quantiles, a deadline (waiting = Deadline), or at least 3 antennas."


def remark_on_times(system: Any) -> str | None:
    """Warning to a reader of mean times and their intervals; None if there is none."""
    gives_up = not asks_in(system.protocol.waiting, EVERY_UPDATE)
    if gives_up or system.end.latest_s is not None:
        return None
    moments = system.uplink.finite_moments
    if moments < 1:
        return (
            "the mean time of an upload is infinite (single-antenna fading without a deadline), so means of "
            f"times and energies never converge, and their intervals mean nothing. {FIX}"
        )
    if moments < 2:
        return (
            "the variance of the time of an upload is infinite (two antennas without a deadline), so "
            f"intervals of mean times and energies do not cover as often as they say. {FIX}"
        )
    return None
