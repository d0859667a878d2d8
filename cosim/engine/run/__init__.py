"""Run: a system from its configuration to its tables."""
