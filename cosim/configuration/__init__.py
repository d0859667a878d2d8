"""Configuration: frozen classes that check themselves, and their form in files."""

from cosim.configuration.calls import checked_call
from cosim.configuration.fields import configuration, field
from cosim.configuration.functions import (
    check_named,
    loaded,
    module_called,
    names_of_a_file,
    own_function,
)
from cosim.configuration.json_form import (
    check_reloads,
    draft,
    finished,
    from_dict,
    options_of,
    to_dict,
    with_kind,
)
from cosim.configuration.kinds import (
    class_of,
    is_configuration,
    kind_of,
    kinds_of,
    known_kinds,
    name_of,
)
from cosim.configuration.paths import KIND, check_closed, ends_of, full_path, open_in, paths_of
from cosim.configuration.port import Port, apart, check_fit, overrides, parts_of, passed_over
from cosim.configuration.rules import (
    ConfigurationError,
    at_least,
    below,
    between,
    did_you_mean,
    not_empty,
    not_negative,
    one_or_range,
    positive,
    refuse,
)
from cosim.configuration.shortcuts import HELPERS, Shortcuts, own_methods, stand_for

__all__ = [
    "HELPERS",
    "KIND",
    "ConfigurationError",
    "Port",
    "Shortcuts",
    "apart",
    "at_least",
    "below",
    "between",
    "check_closed",
    "check_fit",
    "check_named",
    "check_reloads",
    "checked_call",
    "class_of",
    "configuration",
    "did_you_mean",
    "draft",
    "ends_of",
    "field",
    "finished",
    "from_dict",
    "full_path",
    "is_configuration",
    "kind_of",
    "kinds_of",
    "known_kinds",
    "loaded",
    "module_called",
    "name_of",
    "names_of_a_file",
    "not_empty",
    "not_negative",
    "one_or_range",
    "open_in",
    "options_of",
    "overrides",
    "own_function",
    "own_methods",
    "parts_of",
    "passed_over",
    "paths_of",
    "positive",
    "refuse",
    "stand_for",
    "to_dict",
    "with_kind",
]
