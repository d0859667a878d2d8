"""Files: places and folders, free room, interrupts; tables and code of a user's own."""
