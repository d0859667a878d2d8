"""Peers: the same work in cosim and in other tools."""
