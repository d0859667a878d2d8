"""Studies: what if? Several systems with the same seeds, in one folder."""
