"""Records: rows as plain data, their columns, tables and sums."""
