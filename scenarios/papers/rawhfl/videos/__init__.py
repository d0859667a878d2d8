"""Videos: users that ask for videos, and what can be learned from their requests."""
