from cosim.waiting.counts import AtLeast, FirstK
from cosim.waiting.deadlines import Deadline, UploadDeadline
from cosim.waiting.port import WaitForAll, Waiting

__all__ = [
    "AtLeast",
    "Deadline",
    "FirstK",
    "UploadDeadline",
    "WaitForAll",
    "Waiting",
]
