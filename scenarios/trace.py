"""Rates from a trace: which clients are out of reach when the round needs them?

Twelve people are carried past a base station (scenarios/walk.py makes their rates over time, and
scenarios/walk.csv ships them); their devices learn scikit-learn's handwritten digits by federated averaging,
with a deadline. A device without a link just then is too late, however fast it is. Takes seconds.

    cosim run trace
    cosim run trace --deadline-s 10
    cosim run trace --trace.file mine.csv --num-clients 30
    cosim study trace --over deadline_s=1,2,5,10
"""

from rich.table import Table

from cosim import AfterRounds, Deadline, Digits, EdgeTraining, HFedAvg, Result, Sgd, System
from cosim.links import InTurns, RateTrace, RepeatTrace, TracedLink
from cosim.training.local_steps import SameSteps

WALK = RateTrace(file="scenarios:walk.csv", dealing=InTurns(), past_end=RepeatTrace())


def system() -> System:
    """The configuration."""
    return System(
        num_cells=1,
        num_clients=12,
        model="relu-64-32-10",
        data=Digits(),
        uplink=TracedLink(trace=WALK),
        protocol=HFedAvg(
            training=EdgeTraining(
                num_edge_rounds=2,
                steps=SameSteps(num_local_steps=20),
                local=Sgd(batch_size=10, learning_rate=0.1),
                waiting=Deadline(deadline_s=2.0),
            ),
        ),
        end=AfterRounds(num_global_rounds=20),
    )


def report(result: Result) -> Table:
    """Outcome of each device's uploads."""
    found = result.transfers
    found = found.assign(lasts_s=found["end_s"] - found["start_s"])
    found["wasted_bits"] = found["sent_bits"].where(~found["arrived"], 0.0)
    table = Table(title="Uploads over the trace, one seed", title_justify="left")
    for heading in ("device", "uploads", "arrived", "mean rate", "fastest", "slowest", "sent in vain"):
        table.add_column(heading, justify="left" if heading == "device" else "right")
    for client, own in found.groupby("client"):
        arrived = own[own["arrived"]]
        rate_bps = own["sent_bits"].sum() / own["lasts_s"].sum()
        table.add_row(
            str(client),
            f"{len(own)}",
            f"{100 * own['arrived'].mean():.0f} %",
            f"{rate_bps / 1e3:,.0f} kbit/s",
            f"{arrived['lasts_s'].min():.2f} s" if len(arrived) else "-",
            f"{arrived['lasts_s'].max():.2f} s" if len(arrived) else "-",
            f"{own['wasted_bits'].sum() / 1e3:,.0f} kbit",
        )
    return table
