"""Radio: links over the air."""
