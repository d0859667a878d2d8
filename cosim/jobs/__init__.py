"""Jobs: what a client is asked to do once, and cells and clients as rules see them."""
