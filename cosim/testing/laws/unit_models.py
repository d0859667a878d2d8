"""Unit models: models of which one value is 1, so that what is made of them tells its factors."""

import torch

from cosim.values.pending import PendingModel
from cosim.values.submodels import NetworkShape

VALUES = "values"


def unit_models(num: int) -> list[PendingModel]:
    """Models of `num` values, each with a 1 in a place of its own."""
    return [PendingModel.of({VALUES: row}) for row in torch.eye(num, dtype=torch.float64)]


def factors_of(model: PendingModel) -> list[float]:
    """The factor of each unit model in a model that is made of them."""
    return _values(model).tolist()


def _values(model: PendingModel) -> torch.Tensor:
    if model.tensors is not None:
        return model.tensors[VALUES]
    parents = [{VALUES: _values(parent)} for parent in model.parents if isinstance(parent, PendingModel)]
    return model.combine(NetworkShape({VALUES: tuple(parents[0][VALUES].shape)}), parents, None)[VALUES]
