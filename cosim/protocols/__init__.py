"""Protocols: who works when, and what the server makes of what arrives."""
