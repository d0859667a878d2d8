"""Schedules: numbers that follow the round."""
