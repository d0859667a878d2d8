"""Files: paths and folders, free space, interrupts; a user's own tables and code."""
