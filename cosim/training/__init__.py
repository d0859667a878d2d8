"""Training: what a client computes from a start, its samples and a key."""
