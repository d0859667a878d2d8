"""Texts: data sets of characters and tokens."""
