"""Recording: the one place where the events of a run are recorded as rows, on both clocks."""
