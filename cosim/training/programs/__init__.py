"""Programs: what torch does for a rule of training, for many clients at a time."""
