"""Results: a run's folder as it is read: tables, summary, weights, and where its numbers come from."""
