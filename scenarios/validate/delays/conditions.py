"""Conditions that laws of queues have in common."""

STEADY = (
    "services independent of each other and of arrivals, no rest while a packet waits, room for all, "
    "rho < 1, equilibrium"
)
