"""Clients: devices on a clock, one by one and as arrays."""
