"""Figures and tables of the RawHFL paper."""
