"""Values: pending models and updates, their weights, and the shape and parts of a network."""
