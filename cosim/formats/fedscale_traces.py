"""FedScale: the availability and the capacity of its clients.

Both files are a dict with an entry for each client, in a pickle or in JSON:

| file | entry |
|---|---|
| `client_behave_trace` | `{"duration": 211625, "inactive": [...], "finish_time": 518400, "active": [...]}` |
| `client_device_capacity` | `{"computation": 162.0, "communication": 5648.1}` |

A client is present from each time of `active` to the one of `inactive` in the same place, in seconds, and
begins again at `finish_time`. `computation` is ms of inference for a sample, and `communication` kbit/s both
ways.

The pickle is read and not run (`cosim.formats.plain_pickle`).

Source: F. Lai et al., "FedScale: Benchmarking Model and System Performance of Federated Learning at Scale",
ICML 2022; its page of device traces, whose simulator trains for 3 times the time of inference.
"""

from typing import Any

from cosim.files.on_disk import shown
from cosim.formats.converted import AnyPath
from cosim.formats.device_costs import DeviceCosts, Measured
from cosim.formats.entries import Entry, entries_of
from cosim.formats.factors import check_above_0
from cosim.formats.inputs import one_file
from cosim.formats.windows import Stays, Windows


def fedscale_availability(
    file: AnyPath, *, repeats: bool, num_clients: int | None = None, skip_absent: bool = False
) -> Windows:
    """FedScale's client_behave_trace: times at which clients are active, with a period for each.

    Args:
        file: The file, a pickle, which is not run, or JSON.
        repeats: True if the times of each client begin again at its finish_time; else it stays away.
        num_clients: Number of clients to take, in the order of the file and in turn. None means all.
        skip_absent: True to leave out clients that are never there.

    Raises:
        ConfigurationError: The file does not fit; a client is never there.
    """
    path = one_file(file)
    each = [_stays(entry, repeats) for entry in entries_of(path, num_clients)]
    return Windows.of(each, shown(path), skip_absent=skip_absent)


def _stays(entry: Entry, repeats: bool) -> Stays:
    begins, ends = entry.numbers("active"), entry.numbers("inactive")
    finish_s = entry.number("finish_time")
    if len(begins) != len(ends):
        what = f"has {len(begins)} times in active, and {len(ends)} in inactive"
        raise entry.fault(what, "as many of both")
    before_s, before = 0.0, "the start"
    for begin_s, end_s in zip(begins.tolist(), ends.tolist(), strict=True):
        for time_s, key in ((begin_s, "active"), (end_s, "inactive")):
            if time_s < before_s:
                raise entry.fault(
                    f"{key}: {time_s:g} is before {before}, {before_s:g}", "times in turn, in s"
                )
            before_s, before = time_s, f"the time before it in {key}"
    if before_s > finish_s:
        raise entry.fault(
            f"{before_s:g} is after finish_time = {finish_s:g}", "times in s before finish_time"
        )
    windows = list(zip(begins.tolist(), ends.tolist(), strict=True))
    return Stays(entry.name, windows, finish_s if repeats else None)


def fedscale_devices(
    file: AnyPath,
    *,
    train_w: float,
    tx_power_w: float,
    training_factor: float = 3.0,
    num_clients: int | None = None,
) -> DeviceCosts:
    """FedScale's client_device_capacity: ms for a sample, and kbit/s, of each client.

    Args:
        file: The file, a pickle, which is not run, or JSON.
        train_w: Power of a device that trains, of which the file says nothing.
        tx_power_w: Power of a device that sends, likewise.
        training_factor: Time of training on a sample, in times of inference; FedScale's is 3.
        num_clients: Number of clients to take, in the order of the file and in turn. None means all.

    Raises:
        ConfigurationError: The file does not fit.
    """
    path = one_file(file)

    check_above_0("training_factor", training_factor, "3 as FedScale does, or 1 for no change")

    def measured(entry: Entry) -> Measured:
        found: dict[str, Any] = {}
        for key in ("computation", "communication"):
            found[key] = entry.number(key)
            if not found[key]:
                raise entry.fault(f"{key} is 0", "a number above 0")
        rate_bps = 1e3 * found["communication"]
        return Measured(entry.name, training_factor * found["computation"] / 1e3, rate_bps, rate_bps)

    each = [measured(entry) for entry in entries_of(path, num_clients)]
    return DeviceCosts.of(each, per="sample", train_w=train_w, tx_power_w=tx_power_w)
