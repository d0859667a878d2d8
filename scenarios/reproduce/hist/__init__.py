"""Figures and tables of the HIST journal paper."""
