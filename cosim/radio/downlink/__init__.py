"""Downlink: radio links that send models to clients."""
