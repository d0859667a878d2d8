"""Intervals: how far to trust a mean of simulated values."""
