"""Devices: what the clients are, in numbers and in how they behave."""
