"""Tasks: what is minimised, and what is reported of a model."""
