"""Splits: which samples each client has."""
