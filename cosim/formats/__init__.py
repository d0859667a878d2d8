"""Formats: files of other tools and of measurements, as files that a system of cosim reads.

A format is a function: it takes files as they are, reads them strictly, and returns a `Converted`, whose
`save` writes the file that a part asks for. Its keyword arguments say what the files do not; nothing is
guessed. The command `cosim data convert` has every function of this room by its name, with its arguments as
options.

A format of a user's own is a function, too: it returns `Rates(frame)`, or another `Converted`.

Scope and limitations: whole files in memory.

Validation: tests/formats/.
"""

from cosim.doors import door as _door

__getattr__, __dir__, __all__ = _door(__name__)
