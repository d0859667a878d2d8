"""Slices: how many samples pass through a network at a time when it is evaluated.

As many as hold 128 MiB on their way (`cosim.networks.activations`), and at most 1,000, of tokens 100.
The size follows from the network and the samples alone, so that results do not depend on the machine.

Scope and limitations: memory that convolutions take besides, for layouts and products of their own, is
counted as much again.

Validation: tests/networks/test_slices.py.
"""

from functools import cached_property

import attrs
import numpy as np
from torch import nn

from cosim.data.dataset import Dataset
from cosim.networks.activations import forward_bytes
from cosim.networks.fingerprint import once

MOST_SAMPLES, MOST_DOCUMENTS = 1000, 100
"""Test samples per slice, and documents of token numbers; constants, as losses are summed by slice."""

SLICE_BYTES = 128 * 2**20
"""Memory of a slice; ResNet-18 on 1,000 pictures of 32 x 32 holds 70 MiB. [no source]"""

BESIDES = 2
"""Memory of a pass over what its tensors hold; measured are 1.9 for LeNet-5 and 2.6 for ResNet-18."""


@attrs.frozen(kw_only=True, eq=False)
class Slices:
    """Slices of a data set for a network.

    Attributes:
        network: With values; a copy of it makes a pass of one sample.
        dataset: Whose first test sample passes.
    """

    network: nn.Module
    dataset: Dataset

    @cached_property
    def sample_bytes(self) -> int:
        """Bytes that a sample takes at most on its way through the network."""
        return once(forward_bytes, self.network, self.dataset.test_x[:1])

    @cached_property
    def most_at_once(self) -> int:
        """Most samples in a slice by its memory; at least one."""
        return max(1, SLICE_BYTES // self.sample_bytes)

    @property
    def num_samples(self) -> int:
        """Samples in a slice of a whole set."""
        most = MOST_DOCUMENTS if self.dataset.test_x.dtype == np.int64 else MOST_SAMPLES
        return min(most, self.most_at_once)

    def bytes_at_once(self, num_samples: int, num_threads: int) -> int:
        """Approximate bytes of passing a number of samples on a number of threads."""
        return BESIDES * self.sample_bytes * min(num_samples, num_threads * self.num_samples)
