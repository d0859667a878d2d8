from cosim.client_values.port import PerClient, PerGroup, Values

__all__ = [
    "PerClient",
    "PerGroup",
    "Values",
]
