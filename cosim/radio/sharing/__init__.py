"""Sharing: how clients of a cell use one band."""
