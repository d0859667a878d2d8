"""Topology: how far clients stand from their edge servers."""
