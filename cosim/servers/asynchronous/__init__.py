"""Asynchronous servers: jobs under way, who begins when, and what makes a version."""
