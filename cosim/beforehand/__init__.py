"""Beforehand: what is reckoned, said or refused of a run before its clock starts."""
