"""Display: what a reader sees of configurations and runs: words and units, short tables, progress."""
