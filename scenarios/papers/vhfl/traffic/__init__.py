"""Traffic: throughput of cells that is to be predicted, measured or generated."""
