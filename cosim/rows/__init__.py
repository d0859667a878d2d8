"""Rows: as a run records them, in groups that are handed over, as tables in files, and summed up."""
