"""Selection: which clients of a cell take part in an edge round."""
