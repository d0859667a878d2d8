"""Configuration: frozen classes that check themselves, and their form in files."""

from cosim.configuration.asks import Ask, Lack, Word, asks_in, lacks_in
from cosim.configuration.calls import checked_call
from cosim.configuration.claims import Claims, said_of
from cosim.configuration.fields import knob, part
from cosim.configuration.forms import Forms, for_each, form_of, one_of, optional
from cosim.configuration.functions import (
    loaded,
    module_called,
    names_of_a_file,
    own_function,
)
from cosim.configuration.json_form import (
    check_reloads,
    from_dict,
    open_fields,
    options_of,
    takes,
    takes_number,
    takes_of_number,
    to_dict,
)
from cosim.configuration.kinds import (
    class_of,
    is_configuration,
    kind_of,
    kinds_of,
    known_kinds,
    name_of,
)
from cosim.configuration.port import Port, parts_of
from cosim.configuration.rules import (
    ConfigurationError,
    a_share,
    at_least,
    below,
    between,
    did_you_mean,
    lasting,
    not_empty,
    not_negative,
    one_or_range,
    positive,
    refuse,
)
