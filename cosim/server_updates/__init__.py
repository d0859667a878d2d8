"""Server updates: what a server makes of its model when updates have arrived."""
