"""Laws: what the tables of every run, and each part, fulfil."""
