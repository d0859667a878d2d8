"""Drops: random problems of the RawHFL paper's setting, of any number of cells.

Source: RawHFL paper, Section V-A.
"""

import numpy as np

from cosim.radio.propagation.large_scale import LargeScale
from cosim.units import THERMAL_NOISE_DBM_PER_HZ, dbm_to_w
from scenarios.papers.rawhfl.plans.problem import Problem

CLIENTS_PER_CELL = 12
REPEATED_PER_CELL = 4
RADIUS_M = 400.0
NEAREST_M = 10.0
BANDWIDTH_HZ = 540e3


def drop(num_cells: int, seed: int) -> Problem:
    """One drop; a drop of more cells is another drop."""
    rng = np.random.default_rng(seed)
    n = num_cells * CLIENTS_PER_CELL
    distance_m = np.maximum(RADIUS_M * np.sqrt(rng.random(n)), NEAREST_M)
    gain = LargeScale(environment="uma").draw(distance_m, rng).gain
    is_repeated = np.zeros((num_cells, CLIENTS_PER_CELL), dtype=np.bool_)
    is_repeated[:, :REPEATED_PER_CELL] = True
    return Problem(
        cell=np.repeat(np.arange(num_cells), CLIENTS_PER_CELL),
        step_cycles=320.0 * 1408.0 * rng.uniform(25.0, 40.0, n),
        min_frequency_hz=np.zeros(n),
        max_frequency_hz=rng.uniform(1.2e9, 2.0e9, n),
        min_power_w=np.zeros(n),
        max_power_w=np.array([dbm_to_w(power_dbm) for power_dbm in rng.uniform(20.0, 30.0, n)]),
        snr_per_w=gain / (dbm_to_w(THERMAL_NOISE_DBM_PER_HZ) * BANDWIDTH_HZ),
        energy_budget_j=rng.uniform(0.8, 1.5, n),
        is_repeated=rng.permuted(is_repeated, axis=1).ravel(),
        capacitance_j_per_hz2=2e-28,
        static_power_w=0.0,
        payload_bits=7_248_384,
        bandwidth_hz=BANDWIDTH_HZ,
        deadline_s=150.0,
        max_steps=50,
        num_selected=4,
        num_repeated=2,
        theta=0.4,
    )
