from cosim.formats.benchmark_table import benchmark_devices
from cosim.formats.converted import Converted, ConvertedTable
from cosim.formats.device_costs import DeviceCosts
from cosim.formats.drive_log import drive_test, gnettrack, lumos5g
from cosim.formats.fedscale_traces import fedscale_availability, fedscale_devices
from cosim.formats.flash_messages import flash_states
from cosim.formats.gain_arrays import channel_gains
from cosim.formats.gains import Gains
from cosim.formats.iperf3_output import iperf3
from cosim.formats.mahimahi_list import mahimahi
from cosim.formats.movements import moving_gains, moving_windows
from cosim.formats.omnetpp_vectors import omnetpp
from cosim.formats.packet_table import packets
from cosim.formats.rates import Rates
from cosim.formats.rlc_statistics import ns3_rlc
from cosim.formats.throughput_file import throughput
from cosim.formats.windows import Windows

__all__ = [
    "Converted",
    "ConvertedTable",
    "DeviceCosts",
    "Gains",
    "Rates",
    "Windows",
    "benchmark_devices",
    "channel_gains",
    "drive_test",
    "fedscale_availability",
    "fedscale_devices",
    "flash_states",
    "gnettrack",
    "iperf3",
    "lumos5g",
    "mahimahi",
    "moving_gains",
    "moving_windows",
    "ns3_rlc",
    "omnetpp",
    "packets",
    "throughput",
]
