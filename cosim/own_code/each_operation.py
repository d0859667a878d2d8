"""Each operation: the base of what looks at every operation of a forward pass."""

from torch.utils._python_dispatch import TorchDispatchMode
from typing_extensions import override


class EachOperation(TorchDispatchMode):
    """Mode of torch whose `__torch_dispatch__` is called for every operation."""

    @classmethod
    @override
    def _should_skip_dynamo(cls) -> bool:
        """No; else torch imports its compiler at the first operation, which takes as long as torch itself."""
        return False
