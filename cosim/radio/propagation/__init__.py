"""Propagation: mean SNR of each client."""
