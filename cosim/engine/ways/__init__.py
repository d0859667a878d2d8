"""Ways: links on both clocks, by their form."""
