"""Closed forms: theory that simulations are checked against."""
