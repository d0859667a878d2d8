from cosim.system.system import System

__all__ = [
    "System",
]
