"""Figures of the VHFL paper."""
