"""Clock: the only place where time passes."""
