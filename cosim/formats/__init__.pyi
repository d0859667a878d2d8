from cosim.formats.converted import Converted, ConvertedTable
from cosim.formats.mahimahi_list import mahimahi
from cosim.formats.rates import Rates
from cosim.formats.throughput_file import throughput

__all__ = [
    "Converted",
    "ConvertedTable",
    "Rates",
    "mahimahi",
    "throughput",
]
