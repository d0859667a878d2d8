from cosim.radio.downlink.broadcast import Broadcast
from cosim.radio.downlink.unicast import Unicast
from cosim.radio.fading import Fading, NoFading, Rayleigh
from cosim.radio.gain_trace import GainTrace
from cosim.radio.propagation.given_snr import GivenSnr
from cosim.radio.propagation.large_scale import LargeScale
from cosim.radio.propagation.link_budget import LinkBudget
from cosim.radio.propagation.noise_only import NoiseOnly
from cosim.radio.propagation.port import Propagation
from cosim.radio.radio import Radio
from cosim.radio.redrawn import CoherenceTime, EveryEdgeRound, EveryGlobalRound
from cosim.radio.sharing.over_the_air import OverTheAir
from cosim.radio.sharing.port import Sharing
from cosim.radio.sharing.redivided import RedividedShares
from cosim.radio.sharing.resource_blocks import ResourceBlocks
from cosim.radio.sharing.shares import FixedShares
from cosim.radio.sharing.slotted_aloha import SlottedAloha

__all__ = [
    "Broadcast",
    "CoherenceTime",
    "EveryEdgeRound",
    "EveryGlobalRound",
    "Fading",
    "FixedShares",
    "GainTrace",
    "GivenSnr",
    "LargeScale",
    "LinkBudget",
    "NoFading",
    "NoiseOnly",
    "OverTheAir",
    "Propagation",
    "Radio",
    "Rayleigh",
    "RedividedShares",
    "ResourceBlocks",
    "Sharing",
    "SlottedAloha",
    "Unicast",
]
