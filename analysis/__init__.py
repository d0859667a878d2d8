"""Analysis: closed forms, statistics, plots; reads what runs and studies have written."""

from analysis.studies import load

__all__ = ["load"]
