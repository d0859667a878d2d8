"""Scenarios: one question each; reproductions, validations and the command line."""
