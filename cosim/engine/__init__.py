"""Engine: plays systems; it asks ports and names no kind."""
