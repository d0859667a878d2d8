"""Share of packets that leave M/G/1 because their service has not begun after a time D.

The unfinished work V of the packets that stay is what an arrival would wait for. Below D it is fed by all
arrivals, as in the patient queue, so that its density obeys the same equation there,

    f(x) = lambda (P(V = 0) P(B > x) + int_0^x f(y) P(B > x - y) dy)        x < D

and P(V <= x) = K P(W <= x) with the patient queue's wait W, up to D. The server is busy with the services of
the packets that stay: 1 - P(V = 0) = rho P(V <= D). With P(V = 0) = K (1 - rho) this gives K = 1 / (1 - rho
P(W > D)), and since arrivals see time averages the lost share is

    P(V > D) = (1 - rho) P(W > D) / (1 - rho P(W > D))

The equation has levels x < D crossed upwards by arrivals that find y <= x and bring more than x - y, as often
as downwards, by work, f(x) times a second.

Conditions: Poisson arrivals, services independent of them, one server, first come first served, the same
patience D for all, which ends where the service begins; rho < 1, so that W exists, and equilibrium.

Source: derived here.
"""

import attrs

from analysis.closed_forms.delays.symbols import check_load, check_share


@attrs.frozen(kw_only=True)
class Impatience:
    """Losses, from the same queue without impatience.

    Attributes:
        load: rho, of all arrivals.
        waits_longer: P(W > D) in the patient queue.

    Raises:
        ValueError: A probability out of 0 to 1, or rho >= 1.
    """

    load: float
    waits_longer: float

    def __attrs_post_init__(self) -> None:
        check_share("Impatience", "waits_longer", self.waits_longer)
        check_load("Impatience", self.load)

    @property
    def lost_share(self) -> float:
        """P(V > D)."""
        return (1.0 - self.load) * self.waits_longer / (1.0 - self.load * self.waits_longer)

    @property
    def idle_share(self) -> float:
        """P(V = 0), the share of packets that find the system empty."""
        return (1.0 - self.load) / (1.0 - self.load * self.waits_longer)
