"""Planned upload: the probability that it arrives if the plan knows the gain up to an error in dB.

A client trains for t_c seconds and then sends s bits at power P in a band of width w, where its SNR would be
gamma. The actual SNR is gamma 10^(X / 10) with X ~ N(0, sigma^2) dB, so the update arrives within the time
left,

    T = min(t_th - t_c, (e - E_c) / (P + P_static)),

if w log2(1 + gamma 10^(X / 10)) T >= s, that is, if X >= -M with the fade margin

    M = 10 log10(gamma / gamma_needed) dB,    gamma_needed = 2^(s / (w T)) - 1,

and so with probability Phi(M / sigma), times 1 - q where nothing gets through with probability q. A plan
that takes m dB off the gain and ends exactly at the deadline has M = m: without a margin it fails half of the
time.

An update divided by its success probability p is the whole one on average, with variance (1 - p) / p times
its square.

Conditions: the error is constant during an upload; training takes what was planned; without an error (sigma
0) an upload that ends exactly in time arrives.

Source: ours; time, rate and energy are eqs. 10 to 14 of the RawHFL paper, and C7 and C8 of its problem (28).
"""

import math

import attrs
from scipy import special


@attrs.frozen(kw_only=True)
class PlannedUpload:
    """One client's plan for an edge round.

    Attributes:
        snr: SNR gamma at the planned power, by the gain that the planner knows.
        payload_bits: Size s of the upload.
        bandwidth_hz: Width w.
        train_s: Time t_c of the training.
        deadline_s: Length t_th of the edge round.
        energy_budget_j: Budget e. None means no limit.
        train_j: Energy E_c of the training.
        send_w: Power P + P_static while sending.
        csi_error_db: Spread sigma of the error.
        outage_probability: q.
    """

    snr: float
    payload_bits: float
    bandwidth_hz: float
    train_s: float
    deadline_s: float
    csi_error_db: float
    energy_budget_j: float | None = None
    train_j: float = 0.0
    send_w: float = 0.0
    outage_probability: float = 0.0

    def __attrs_post_init__(self) -> None:
        if (
            min(self.payload_bits, self.bandwidth_hz, self.deadline_s) <= 0.0
            or min(self.snr, self.train_s) < 0.0
        ):
            raise ValueError(
                "PlannedUpload: payload, bandwidth and deadline must be above 0, SNR and training time not "
                f"below it, but are {self}."
            )
        if self.csi_error_db < 0.0 or not 0.0 <= self.outage_probability <= 1.0:
            raise ValueError(
                f"PlannedUpload: csi_error_db = {self.csi_error_db:g} must not be below 0, "
                f"outage_probability = {self.outage_probability:g} must lie from 0 to 1."
            )
        if self.energy_budget_j is not None and self.send_w <= 0.0:
            raise ValueError(
                f"PlannedUpload: send_w = {self.send_w:g} must be above 0 where there is a budget."
            )

    @property
    def left_s(self) -> float:
        """Time that deadline and budget leave for sending; not above 0: none."""
        left_s = self.deadline_s - self.train_s
        if self.energy_budget_j is None:
            return left_s
        return min(left_s, (self.energy_budget_j - self.train_j) / self.send_w)

    @property
    def needed_snr(self) -> float:
        """SNR at which the upload just arrives; infinite if nothing is left."""
        if self.left_s <= 0.0:
            return math.inf
        exponent = self.payload_bits / (self.bandwidth_hz * self.left_s) * math.log(2.0)
        return math.expm1(exponent) if exponent < 700.0 else math.inf

    @property
    def fade_margin_db(self) -> float:
        """By how much the gain may fall below the known one."""
        needed = self.needed_snr
        if self.snr == 0.0 or math.isinf(needed):
            return -math.inf
        return 10.0 * math.log10(self.snr / needed)

    @property
    def success_rate(self) -> float:
        """Probability that the update arrives."""
        margin_db = self.fade_margin_db
        if self.csi_error_db == 0.0:
            arrives = float(margin_db >= 0.0)
        else:
            arrives = float(special.ndtr(margin_db / self.csi_error_db))
        return (1.0 - self.outage_probability) * arrives

    @property
    def correction_variance(self) -> float:
        """Variance of (1 if it arrives, else 0) / p, which has mean 1; infinite if it never arrives."""
        p = self.success_rate
        return (1.0 - p) / p if p else math.inf
