"""Waiting: how long a server waits for the updates of an edge round."""
