"""Going together: the words by which parts of a system fit, or do not (`cosim.configuration.asks`).

A part that lacks one says so in `lacks`, a part that cannot do without one in `asks`; so do parts of a user's
own. `docs/parts.md` prints which of ours do.
"""

from cosim.configuration.asks import Word

EVERY_UPDATE = Word(
    "every update",
    of="uplink",
    lacking="some uploads never end",
    instead="an uplink without outages and losses",
)
ONE_BY_ONE = Word(
    "updates one by one",
    of="uplink",
    lacking="only the mean of a cell's updates arrives",
    instead="sharing = FixedShares",
)
KNOWN_TIMES = Word(
    "times known beforehand",
    of="uplink",
    lacking="how long an upload takes is not known beforehand",
    instead="sharing = FixedShares",
)
DOWNLOADS_APART = Word(
    "downloads before a round's clock",
    of="downlink",
    lacking="no plan knows how long a download takes",
    instead="downloads_count = false, so that a round begins when all have received, or "
    "downlink = Instantaneous",
)
FREE_CODING = Word(
    "coding without cycles",
    of="codec",
    lacking="no plan knows how long coding takes",
    instead="cycles_per_value = 0",
)
EDGE_ROUNDS = Word(
    "edge rounds",
    of="protocol",
    lacking="clients get their jobs one by one",
    instead="a protocol with edge rounds, such as HFedAvg",
)
ONE_MODEL = Word(
    "one model for all of a round",
    of="protocol",
    lacking="each client is sent something of its own",
    instead="a protocol that sends all the same, such as HFedAvg",
)
MEANS = Word(
    "means of updates",
    of="protocol",
    lacking="no edge server takes the mean of what arrives",
    instead="HFedAvg with EdgeTraining",
)
COMMON_ROUNDS = Word(
    "common rounds",
    of="protocol",
    lacking="the work of clients differs in more than cycles",
    instead="HFedAvg with EdgeTraining",
)
GLOBAL_ROUNDS = Word(
    "global rounds",
    of="protocol",
    lacking="it has no global rounds",
    instead="a protocol that does, such as HFedAvg",
)
LEARNING = Word(
    "learning", of="evaluation", lacking="only times are asked for", instead="evaluation = EveryVersions"
)
SHARED_CYCLES = Word(
    "cycles by share",
    of="cycles",
    lacking="a part of a network need not cost its share of the parameters",
    instead="cycles = CyclesPerStep",
)
