"""Deadlines: edge rounds, or uploads, that end when their time is up."""

from cosim.configuration import knob, lasting, part
from cosim.waiting.port import WaitForAll, Waiting


@part
class Deadline(Waiting):
    """Time limit of an edge round: stragglers are dropped then; a round in which all arrive ends earlier.

    Attributes:
        deadline_s: Length of an edge round. [no source]
    """

    deadline_s: float = knob(lasting, default=1.0)  # type: ignore[override]


@part
class UploadDeadline(WaitForAll):
    """A time limit for each upload, from its own start; computing is not limited.

    Attributes:
        upload_deadline_s: T_p, after which an upload is late. [VHFL, Section IV: from K / K_0]
    """

    upload_deadline_s: float = knob(lasting, default=1.0)  # type: ignore[override]
