"""Asynchronous protocols: a server that applies what arrives while others are at work."""
