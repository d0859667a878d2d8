"""Laws: a formula beside the clock, ours and a user's own (docs/own-laws.md)."""

from analysis.laws.port import Clock, Law, Numbers
from analysis.laws.samples import Exact, Independent, Regenerating, Sample, Series, Trials

__all__ = [
    "Clock",
    "Exact",
    "Independent",
    "Law",
    "Numbers",
    "Regenerating",
    "Sample",
    "Series",
    "Trials",
]
