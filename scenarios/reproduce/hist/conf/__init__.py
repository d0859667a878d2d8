"""Figures of the HIST conference paper."""
