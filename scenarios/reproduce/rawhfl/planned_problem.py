"""The problem of all edge rounds of a run of H-FedAvg-UB, read back from its plans.

In such a run every client does the most steps at its highest frequency f and power P, so its planned time D
and energy E determine the cycles y of its training: D = y / f + u and E = zeta y f^2 / 2 + P u, with u the
time of its upload, from which follows its SNR (eqs. 10 to 14 of the paper).
"""

import numpy as np

import cosim
from cosim.client_values.port import in_range
from cosim.clock.draws import uniforms
from cosim.configuration import from_dict
from cosim.radio import ResourceBlocks
from scenarios.papers.rawhfl import RawHfl
from scenarios.papers.rawhfl.plans.problem import Problem


def problem_of(result: cosim.Result) -> Problem:
    """Every row of the plans as a client of its own, shape (edge rounds * clients,), with its budget."""
    system, plans = from_dict(cosim.System, result.config["system"]), result.plans
    protocol, sim, num = system.protocol, cosim.Simulation(system.seed), len(result.plans)
    assert isinstance(protocol, RawHfl)
    assert isinstance(system.devices, cosim.DrawnDevices)
    assert isinstance(system.uplink, cosim.Radio)
    assert isinstance(system.uplink.sharing, ResourceBlocks)
    hertz, power_w = plans["frequency_hz"].to_numpy(), plans["tx_power_w"].to_numpy()
    duration_s, energy_j = plans["planned_s"].to_numpy(), plans["planned_j"].to_numpy()
    half_zeta = 0.5 * system.devices.capacitance_j_per_hz2
    cycles = (energy_j - power_w * duration_s) / (half_zeta * hertz**2 - power_w / hertz)
    payload_bits = int(result.transfers["payload_bits"].iloc[0])
    bandwidth_hz = system.uplink.sharing.block_hz
    efficiency = payload_bits / (bandwidth_hz * (duration_s - cycles / hertz))
    budgets_j = {
        name: in_range(protocol.energy_budget_j, sim.of_client(name, "energy budget", uniforms))
        for name in plans["client"].unique()
    }
    return Problem(
        cell=np.zeros(num, dtype=np.int64),
        step_cycles=cycles / plans["num_steps"].to_numpy(),
        min_frequency_hz=np.zeros(num),
        max_frequency_hz=hertz,
        min_power_w=np.zeros(num),
        max_power_w=power_w,
        snr_per_w=np.expm1(efficiency * np.log(2.0)) / power_w,
        energy_budget_j=plans["client"].map(budgets_j).to_numpy(dtype=float),
        is_repeated=np.zeros(num, dtype=np.bool_),
        capacitance_j_per_hz2=2.0 * half_zeta,
        static_power_w=0.0,
        payload_bits=payload_bits,
        bandwidth_hz=bandwidth_hz,
        deadline_s=protocol.deadline_s,
        max_steps=protocol.max_local_rounds,
        num_selected=num,
        num_repeated=num,
        theta=0.5,
    )
