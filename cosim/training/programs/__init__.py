"""Programs: the torch code of training rules, for many clients at a time."""
