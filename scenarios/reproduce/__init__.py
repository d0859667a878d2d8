"""Reproductions: figures and tables of papers, with each claim beside the value found here."""
