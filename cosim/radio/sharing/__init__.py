"""Sharing: rules by which clients of a cell share a band."""
