"""Ends: when a run is over, and when it is evaluated."""
