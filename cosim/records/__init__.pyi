from cosim.records.measures import Measure

__all__ = [
    "Measure",
]
