"""Propagation: the mean SNR of each client."""
