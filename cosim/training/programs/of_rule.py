"""Of a rule: the program that trains by it, whichever form the rule has."""

from cosim.training.port import LocalTraining
from cosim.training.programs.client_by_client import ClientByClient
from cosim.training.programs.program import Program


def program_of(rule: LocalTraining) -> Program:
    """Its own, for many clients together; of a rule with `train` one that calls that, client by client."""
    return rule.program() if rule.form == "together" else ClientByClient(*rule.train_names)
