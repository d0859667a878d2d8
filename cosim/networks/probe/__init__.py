"""Probe: what networks, tasks and rules must not do, found before the clock starts."""
