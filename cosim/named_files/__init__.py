"""Named files: tables and code of a user's own that a configuration names, read, checked and known again."""
