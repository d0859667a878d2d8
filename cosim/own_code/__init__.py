"""Own code: networks and functions of users, the files that they lie in, and what they draw and return."""
