from cosim.records.rows import Measure

__all__ = [
    "Measure",
]
