from cosim.tasks.classification import Classification
from cosim.tasks.metric import Answers, Metric
from cosim.tasks.metrics import ClassAccuracy, ClientAccuracy, MacroF1, PersonalAccuracy
from cosim.tasks.next_token import NextToken
from cosim.tasks.port import Task
from cosim.tasks.regression import Regression

__all__ = [
    "Answers",
    "ClassAccuracy",
    "Classification",
    "ClientAccuracy",
    "MacroF1",
    "Metric",
    "NextToken",
    "PersonalAccuracy",
    "Regression",
    "Task",
]
