"""Ends of n uploads that start at once and share a band evenly, divided again whenever one ends.

Let x_(1) <= ... <= x_(n) be what each takes with the whole band. While the k-th is the shortest that still
sends, n - k + 1 share, so it needs n - k + 1 times what it has more than the one before:

    T_(k) = T_(k-1) + (n - k + 1) (x_(k) - x_(k-1)) = x_(1) + ... + x_(k) + (n - k) x_(k)

The last ends at the sum of all x: no part of the band has been idle. With fixed shares it ends at n x_(n).

Conditions: rates in proportion to the share (an SNR that is the same in any bandwidth) and steady; no other
client sends, and none stops before the end.

Source: derived here.
"""

import attrs
import numpy as np

from analysis.closed_forms.delays.symbols import Numbers, check_positive


@attrs.frozen(kw_only=True)
class StartedTogether:
    """Ends of uploads that start at once.

    Attributes:
        alone_s: x of each, in any order.

    Raises:
        ValueError: A time that is not above zero.
    """

    alone_s: tuple[float, ...] = attrs.field(converter=tuple)

    def __attrs_post_init__(self) -> None:
        check_positive("StartedTogether", alone_s=self.alone_s)

    @property
    def ends_s(self) -> Numbers:
        """T of each, in the order of `alone_s`, shape (uploads,)."""
        alone_s = np.array(self.alone_s)
        order = np.argsort(alone_s)
        sorted_s = alone_s[order]
        ends_s = np.empty_like(alone_s)
        ends_s[order] = np.cumsum(sorted_s) + np.arange(len(alone_s))[::-1] * sorted_s
        return ends_s
