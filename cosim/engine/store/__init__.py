"""Store: the folder of a run, its checkpoint and its results."""
