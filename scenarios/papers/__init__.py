"""Papers: what only one paper uses, offered to cosim by entry points as a package of somebody else is."""
