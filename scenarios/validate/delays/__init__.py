"""Delays: the laws that `cosim validate delay-laws` runs on the clock."""
