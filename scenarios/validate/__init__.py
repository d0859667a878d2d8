"""Validations: the clock against closed forms, and against a wrong theory."""
