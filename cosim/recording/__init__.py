"""Recording: what happens in a run is written down as rows, at one place, on both clocks."""
