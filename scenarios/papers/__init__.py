"""Papers: what only one paper uses, offered to cosim by entry points, as any installed package does."""
