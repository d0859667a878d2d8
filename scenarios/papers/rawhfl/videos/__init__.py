"""Videos: users who ask for videos, and what can be learned from it."""
