"""Delays: the laws that `cosim validate delay-laws` plays on the clock."""
