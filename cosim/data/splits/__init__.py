"""Splits: rules that deal the training samples to clients."""
