"""Configuration: frozen classes that check themselves, and their form in files."""

from cosim.configuration.fields import configuration, field
from cosim.configuration.json_form import check_reloads, from_dict, options_of, to_dict, with_kind
from cosim.configuration.kinds import (
    class_of,
    is_configuration,
    kind_of,
    kinds_of,
    known_kinds,
    loaded,
    module_called,
    name_of,
)
from cosim.configuration.paths import KIND, ends_of, full_path, paths_of
from cosim.configuration.port import Port, check_fit, fit_later, overrides, parts_of
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

__all__ = [
    "KIND",
    "ConfigurationError",
    "Port",
    "at_least",
    "below",
    "between",
    "check_fit",
    "check_reloads",
    "class_of",
    "configuration",
    "did_you_mean",
    "ends_of",
    "field",
    "fit_later",
    "from_dict",
    "full_path",
    "is_configuration",
    "kind_of",
    "kinds_of",
    "known_kinds",
    "loaded",
    "module_called",
    "name_of",
    "not_empty",
    "not_negative",
    "one_or_range",
    "options_of",
    "overrides",
    "parts_of",
    "paths_of",
    "positive",
    "refuse",
    "to_dict",
    "with_kind",
]
