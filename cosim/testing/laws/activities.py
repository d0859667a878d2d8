"""Activities: what clients do in a run, and the powers that they take."""

import numpy as np
import pandas as pd

from cosim.clock.simulation import Simulation
from cosim.configuration import from_dict
from cosim.devices.device import DeviceArrays
from cosim.names import client_name, edge_name
from cosim.results.result import Result
from cosim.system.system import System
from cosim.testing.laws.broken import all_fit

ROUNDING = 1e-9


def powers_are_the_devices(result: Result) -> None:
    """A client that sends, receives or trains takes a power that its device has then.

    Powers that a processor or a power control says are not bounded by the numbers of a device.

    Raises:
        BrokenLaw: The first activity that takes another.
    """
    system = from_dict(System, result.config["system"])
    devices = DeviceArrays.of(system.devices.of_clients(Simulation(system.seed), system.sizes()))
    static_w = devices.static_power_w
    ranges_w = {
        "send": (static_w, static_w + devices.tx_power_w),
        "receive": (static_w + devices.receive_w,) * 2,
        "train": (static_w, devices.train_w),
    }
    for activity, part in (("send", "power_control"), ("train", "processor")):
        if not devices.are_plain(part):
            del ranges_w[activity]
    number_of = {client_name(number): number for number in range(len(devices))}
    for activity, (least_w, most_w) in ranges_w.items():
        rows = result.spans[result.spans["activity"] == activity]
        rows = rows[rows["node"].isin(list(number_of))]
        places = rows["node"].map(number_of).to_numpy(dtype=np.int64)
        lasts_s = (rows["end_s"] - rows["start_s"]).to_numpy()
        least_j, most_j = least_w[places] * lasts_s, most_w[places] * lasts_s
        energy_j = rows["energy_j"].to_numpy()
        fits = (energy_j >= least_j * (1.0 - ROUNDING)) & (energy_j <= most_j * (1.0 + ROUNDING))
        rule = f"a client that is at '{activity}' takes a power that its device has for it"
        all_fit(rows, pd.Series(fits, index=rows.index), "energy", rule, "a power given to sim.spend")


def silent_cells(result: Result) -> set[int]:
    """Cells of which no client trains, in at least as many versions as there are cells.

    A run with plans, which may leave a cell out, has none, and neither has a cell where no client is present.
    """
    system = from_dict(System, result.config["system"])
    num_versions = max(result.summary.num_global_rounds, len(result.versions))
    if num_versions < max(2, len(system.sizes())) or len(result.plans):
        return set()
    trained = set(result.spans[result.spans["activity"] == "train"]["node"])
    rounds = result.rounds[result.rounds["level"] == "edge"]
    first, found = 0, set()
    for cell, size in enumerate(system.sizes()):
        names = {client_name(number) for number in range(first, first + size)}
        first += size
        were_there = rounds[rounds["node"] == edge_name(cell)]["num_present"]
        if not names & trained and not (len(were_there) and were_there.max() == 0):
            found.add(cell)
    return found
