"""Papers: what only one paper uses."""
