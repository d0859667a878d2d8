"""Queues: links through a public network that others fill as well."""
