"""Reports: one HTML page about runs."""
