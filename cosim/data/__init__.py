"""Data: what is learned, and which client holds which samples."""
