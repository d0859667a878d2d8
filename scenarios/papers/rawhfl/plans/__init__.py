"""Plans: who trains in an edge round, how many steps, at which frequency and power."""
