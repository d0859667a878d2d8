"""Analysis: closed forms, statistics, plots; reads what runs and studies have written."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.studies import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from analysis.studies import load  # pandas and statistics, which closed forms do without

    return load
