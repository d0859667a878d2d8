"""Over-the-air aggregation in HIST: airtime, latency, distortion of an edge round (HIST journal, Section V).

All clients of a cell send their k-th element at once; the edge server receives with m = a / nu, ||a|| = 1,
and client i sends with the factor alpha_i that makes m^H h_i alpha_i = 1 / n_j (24). What arrives is the
mean over clients plus a^H z / nu. Derived from (23) and (24):

- With nu = sqrt(P) min |a^H h_i|, |alpha_i|^2 = (P / n^2) min |a^H h|^2 / |a^H h_i|^2. So no client uses more
  than P / n_j^2 of the P it may; n_j times nu is still allowed, and divides (25) by n_j^2 (`is_full_power`).
- z ~ CN(0, sigma_0^2 I), so a^H z has the variance sigma_0^2, half of it in its real part. Elements are real,
  and (27) keeps models real only if the real part is taken: (25) is twice the distortion that is left
  (`is_real_part_only`).
- The limit is |alpha| <= P in Section V-A and |alpha|^2 <= P in V-B; (25) follows from the second only.
- P limits |alpha|^2, not the power sent, |alpha|^2 times the squared element. It is a power in W for elements
  of unit square; where elements have a unit, so have they squared the MSE, and P is W per that.
- (22) has the wrong sign: the sum of the gradients is (x_0 - x_H) / gamma. With (x_H - x_0) / gamma, (27)
  would climb.
- Slips: (31) sums over i what it counts by j; in (37) a symbol on one sub-channel is called a resource block.

(37) has whole parameters on whole symbols: it neither rounds |p_j|_1 / (B / delta_f) up to whole symbols nor
B / delta_f down to whole sub-channels. In (38) the airtime is the same for all clients, so their maximum is
the maximum of computing: no client can send before the slowest has computed.

Conditions: channels that stay for the round and are known; perfect timing and phase; full participation; a
downlink that takes no time.

Source: HIST journal paper, Section V. Both variations are ours; off, the paper's formulas hold as printed.
"""

from collections.abc import Sequence

import attrs
import numpy as np


def airtime_s(num_parameters: float, bandwidth_hz: float, subchannel_hz: float, symbol_s: float) -> float:
    """Latency of a sum over the air, eq. 37.

    A submodel of |p_j|_1 parameters, one parameter per symbol and sub-channel, from any number of clients.

    Args:
        num_parameters: |p_j|_1.
        bandwidth_hz: B.
        subchannel_hz: delta_f.
        symbol_s: t_s.
    """
    return num_parameters / (bandwidth_hz / subchannel_hz) * symbol_s


@attrs.frozen(kw_only=True, eq=False)
class AirEdgeRoundLatency:
    """Eq. 38 for one cell.

    Attributes:
        num_steps: H.
        step_cycles: V_0.
        num_parameters: d, of the whole model.
        fraction: p = |p_j|_1 / d, the part of the whole model that the cell trains.
        bandwidth_hz: B.
        subchannel_hz: delta_f.
        symbol_s: t_s.
        frequency_hz: F_i, shape (clients,).
    """

    num_steps: int
    step_cycles: float
    num_parameters: int
    fraction: float
    bandwidth_hz: float
    subchannel_hz: float
    symbol_s: float
    frequency_hz: np.ndarray

    @property
    def airtime_s(self) -> float:
        """Eq. 37."""
        size = self.fraction * self.num_parameters
        return airtime_s(size, self.bandwidth_hz, self.subchannel_hz, self.symbol_s)

    @property
    def computing_s(self) -> np.ndarray:
        """Of each client, shape (clients,)."""
        return self.num_steps * self.fraction * self.step_cycles / self.frequency_hz

    @property
    def cell_s(self) -> float:
        """The slowest client's computing, and the common airtime."""
        return float(np.max(self.computing_s)) + self.airtime_s


def global_round_s(num_edge_rounds: int, cells: Sequence[AirEdgeRoundLatency]) -> float:
    """E edge rounds of the slowest cell: the objective of eq. 39."""
    return num_edge_rounds * max(cell.cell_s for cell in cells)


@attrs.frozen(kw_only=True, eq=False)
class AirDistortion:
    """Distortion that noise adds to one cell's aggregate: eqs. 24, 25 and 28.

    Attributes:
        power_w: P_j, largest |alpha_i|^2, for elements of unit square.
        noise_w: sigma_0^2, per antenna, both parts of the complex noise.
        gains: |a^H h_i|^2, after the receive beamformer of norm 1, shape (clients,).
        is_full_power: True if the weakest client sends with P_j, not with P_j / n_j^2.
        is_real_part_only: True if the receiver keeps the real part only.

    Raises:
        ValueError: Power or a gain is not above 0, or noise is below.
    """

    power_w: float
    noise_w: float
    gains: np.ndarray
    is_full_power: bool = False
    is_real_part_only: bool = False

    def __attrs_post_init__(self) -> None:
        for name, is_right, rule in (
            ("power_w", self.power_w > 0.0, "above 0"),
            ("noise_w", self.noise_w >= 0.0, "at least 0"),
            ("gains", len(self.gains) > 0 and np.all(self.gains > 0.0), "above 0, one per client"),
        ):
            if not is_right:
                raise ValueError(
                    f"AirDistortion.{name} = {getattr(self, name)!r} must be {rule}. Leave out "
                    "clients that the beamformer does not hear, for the weakest sets the MSE."
                )

    @property
    def normalisation_w(self) -> float:
        """nu_j^2 = P_j min |a^H h_i|^2, times n_j^2 at full power."""
        nu_2 = self.power_w * float(np.min(self.gains))
        return nu_2 * len(self.gains) ** 2 if self.is_full_power else nu_2

    @property
    def sent_w(self) -> np.ndarray:
        """|alpha_i|^2 of eq. 24, for elements of unit square, shape (clients,)."""
        return self.normalisation_w / (len(self.gains) ** 2 * self.gains)

    @property
    def element_mse(self) -> float:
        """MSE_{j,k} of eq. 25, the same for all elements."""
        mse = self.noise_w / self.normalisation_w
        return mse / 2.0 if self.is_real_part_only else mse

    def cell_mse(self, num_parameters: int) -> float:
        """MSE_j of eq. 29, the sum over the |S_j| parameters of the cell's submodel."""
        return num_parameters * self.element_mse

    def model_variance(self, num_parameters: int, learning_rate: float) -> float:
        """Eq. 28: gamma^2 |S_j| MSE_{j,k}, of the edge model about the mean of its clients."""
        return learning_rate**2 * self.cell_mse(num_parameters)
