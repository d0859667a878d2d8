"""Benchmarks: each a program; a package, because a tool in `peers` brings another one of that name."""
