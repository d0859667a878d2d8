"""VHFL on cell traffic: do the server's observations reach the clients through busy queues?

16 cells predict their throughput. A server that sees every cell's neighbours trains with them; uploads wait
in queues with packets of the public, and the server waits T_p for each. 12 of the 16 clients may upload in a
global round and 10 updates are needed, so T_p is where the closed form has a success rate of 10 / 12.

    cosim run vhfl
    cosim run vhfl --uplink.arrivals.rate-per-s 2.4
    cosim run vhfl --data.kind TrafficCsv --data-dir my/traffic --num-clients 7
"""

from rich.table import Table

from analysis.closed_forms.sojourn import Sojourn
from cosim import AfterRounds, DrawnDevices, PerGroup, QueuedLink, Result, System
from cosim.configuration import from_dict
from cosim.devices import CyclesPerStep
from cosim.queues import HyperExponential, OwnPaths
from cosim.waiting import UploadDeadline
from scenarios.papers.vhfl import CellTraffic, VerticalSgd, Vhfl

NUM_SENDERS, NUM_NEEDED = 12, 10
VERTICAL, HORIZONTAL = "vertical-9-12-32-8", "horizontal-12-32-8"
STEPS_PER_EPOCH = 16
MIN_PATHS, MIN_UPLOADS = 4, 20
"""Fewest of an interval for what arrives; from there on t intervals over paths cover 93 to 98 %."""


def system() -> System:
    """The configuration."""
    uplink = QueuedLink()
    return System(
        num_cells=1,
        num_clients=16,
        model=VERTICAL,
        data=CellTraffic(),
        cycles=CyclesPerStep(step_cycles=5e8),
        devices=DrawnDevices(
            min_frequency_hz=PerGroup(values=(1e9,)),
            max_frequency_hz=PerGroup(values=(2e9,)),
        ),
        uplink=uplink,
        protocol=Vhfl(
            num_local_epochs=5,
            local=VerticalSgd(central_learning_rate=2.0),
            num_senders=NUM_SENDERS,
            num_needed=NUM_NEEDED,
            waiting=UploadDeadline(
                upload_deadline_s=sojourn(uplink).waiting_time_s(NUM_NEEDED / NUM_SENDERS)
            ),
        ),
        end=AfterRounds(num_global_rounds=100),
    )


def sojourn(uplink: QueuedLink) -> Sojourn:
    """Theorem 2 for the paths of a queued link: a message so rare that it slows none that follow."""
    service = uplink.service
    assert isinstance(service, HyperExponential)
    return Sojourn(
        arrival_rate_per_s=uplink.arrivals.mean_rate_per_s,
        weights=service.weights,
        rates_per_s=service.rates_per_s,
    )


def report(result: Result) -> Table | str:
    """How many updates arrived in a global round, beside gamma K_0 by the closed form."""
    system = from_dict(System, result.config["system"])
    protocol, uplink = system.protocol, system.uplink
    if (
        not isinstance(protocol, Vhfl)
        or not isinstance(protocol.waiting, UploadDeadline)
        or not isinstance(uplink, QueuedLink)
        or uplink.paths != OwnPaths()
        or not isinstance(uplink.service, HyperExponential)
        or uplink.packet_bits is not None
        or not 0.0 < uplink.load < 1.0
    ):
        return (
            "No closed form says how many updates arrive: Theorem 2 wants a queued link with own paths, "
            "hyper-exponential service, a load between 0 and 1, messages of one packet, and a T_p that "
            "counts from the upload."
        )
    num_senders = protocol.num_senders or system.num_clients
    success_rate = float(sojourn(uplink).success_rate(protocol.waiting.upload_deadline_s))
    table = Table(title="Updates that arrive in a global round", title_justify="left")
    for heading in ("T_p", "gamma (Theorem 2)", "needed K", "gamma K_0", "arrived", "verdict"):
        table.add_column(heading)
    row = (
        f"{protocol.waiting.upload_deadline_s:.4g} s",
        f"{success_rate:.4f}",
        f"{protocol.num_needed or num_senders}",
        f"{success_rate * num_senders:.3f} of {num_senders}",
    )
    # Paths are independent of each other, one client's uploads are not.
    of_clients = result.uploads.groupby("client")["arrived"].agg(["mean", "count"])
    if len(of_clients) < MIN_PATHS or of_clients["count"].min() < MIN_UPLOADS:
        needed = f"no interval: {MIN_PATHS} paths of {MIN_UPLOADS} uploads needed"
        table.add_row(*row, needed, "too noisy")
        return table
    from analysis.intervals.statistics import t_interval  # not before there is something to report

    interval = t_interval(of_clients["mean"].to_numpy())
    low, mean, high = (num_senders * share for share in (interval.low, interval.estimate, interval.high))
    arrived = f"{mean:.2f} [{low:.2f}, {high:.2f}] (95 %, {len(of_clients)} paths)"
    table.add_row(*row, arrived, interval.verdict(success_rate, margin=0.05))
    return table
