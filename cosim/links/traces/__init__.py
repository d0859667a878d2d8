"""Traces: rates of links from files."""
