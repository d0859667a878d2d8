"""Plans: the clients that train in an edge round, with their steps, frequencies and powers."""
