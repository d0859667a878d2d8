"""Asynchronous protocols: a server that applies updates while other clients are still working."""
