"""Networks: torch modules by name, their first values, identity and costs."""
