"""Engine: runs systems; it asks ports and names no kind."""
