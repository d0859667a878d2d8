from cosim.formats.converted import Converted, ConvertedTable
from cosim.formats.drive_log import drive_test, gnettrack, lumos5g
from cosim.formats.iperf3_output import iperf3
from cosim.formats.mahimahi_list import mahimahi
from cosim.formats.omnetpp_vectors import omnetpp
from cosim.formats.packet_table import packets
from cosim.formats.rates import Rates
from cosim.formats.rlc_statistics import ns3_rlc
from cosim.formats.throughput_file import throughput

__all__ = [
    "Converted",
    "ConvertedTable",
    "Rates",
    "drive_test",
    "gnettrack",
    "iperf3",
    "lumos5g",
    "mahimahi",
    "ns3_rlc",
    "omnetpp",
    "packets",
    "throughput",
]
