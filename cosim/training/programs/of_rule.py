"""Program of a rule, whichever form the rule has."""

from cosim.training.port import LocalTraining
from cosim.training.programs.client_by_client import ClientByClient
from cosim.training.programs.program import Program


def program_of(rule: LocalTraining) -> Program:
    """Program of a rule, for many clients together; a method `train` is called client by client."""
    return rule.program() if rule.form == "together" else ClientByClient(*rule.train_names)
