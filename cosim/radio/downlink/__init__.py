"""Downlink: how a radio sends models to clients."""
