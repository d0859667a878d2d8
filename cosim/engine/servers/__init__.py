"""Servers: the cloud and its edge servers, on a clock."""
