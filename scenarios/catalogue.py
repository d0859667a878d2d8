"""Catalogue: the scenarios, reproductions and validations that the command line finds by name.

A scenario is a module with a function `system`; a reproduction or validation is a module with a function
`main`. The first line of a module's docstring is what `cosim list` prints.
"""

import difflib
import importlib
from types import ModuleType

from cosim import ConfigurationError

SCENARIOS = {
    "quickstart": "scenarios.quickstart",
    "hist": "scenarios.hist",
    "hfedavg": "scenarios.hfedavg",
    "aircomp": "scenarios.aircomp",
    "vhfl": "scenarios.vhfl",
    "rawhfl": "scenarios.rawhfl",
}
REPRODUCTIONS = {
    "hist-fig4": "scenarios.reproduce_hist_fig4",
    "hist-fig5": "scenarios.reproduce_hist_fig5",
    "hist-fig6": "scenarios.reproduce_hist_fig6",
    "hist-fig7": "scenarios.reproduce_hist_fig7",
    **{
        f"hist-fig{figure}": f"scenarios.reproduce_hist_fig{figure}"
        for figure in ("8a", "8b", "8c", "9a", "9b", "9c")
    },
    "hist-table1": "scenarios.reproduce_hist_table1",
    "hist-table2": "scenarios.reproduce_hist_table2",
    "hist-table3": "scenarios.reproduce_hist_table3",
    "vhfl-fig4": "scenarios.reproduce_vhfl_fig4",
    "vhfl-fig5": "scenarios.reproduce_vhfl_fig5",
    "vhfl-fig6": "scenarios.reproduce_vhfl_fig6",
    "vhfl-fig7": "scenarios.reproduce_vhfl_fig7",
    "rawhfl-fig5": "scenarios.reproduce_rawhfl_fig5",
    "rawhfl-fig6": "scenarios.reproduce_rawhfl_fig6",
    "rawhfl-fig7": "scenarios.reproduce_rawhfl_fig7",
    "rawhfl-fig8": "scenarios.reproduce_rawhfl_fig8",
    "rawhfl-fig9": "scenarios.reproduce_rawhfl_fig9",
    "rawhfl-fig10": "scenarios.reproduce_rawhfl_fig10",
    "rawhfl-table2": "scenarios.reproduce_rawhfl_table2",
    "rawhfl-table3": "scenarios.reproduce_rawhfl_table3",
    "rawhfl-table4": "scenarios.reproduce_rawhfl_table4",
}
VALIDATIONS = {
    "round-latency": "scenarios.validate_round_latency",
    "success-rate": "scenarios.validate_success_rate",
    "csi-error": "scenarios.validate_csi_error",
    "aircomp-latency": "scenarios.validate_aircomp_latency",
    "aircomp-noise": "scenarios.validate_aircomp_noise",
}


def find(kind: str, catalogue: dict[str, str], name: str) -> ModuleType:
    """The module of a name.

    Raises:
        ConfigurationError: There is none; names those that are.
    """
    if name not in catalogue:
        close = difflib.get_close_matches(name, catalogue, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise ConfigurationError(f"no {kind} {name!r}.{hint} Known: {', '.join(catalogue)}.")
    return importlib.import_module(catalogue[name])
