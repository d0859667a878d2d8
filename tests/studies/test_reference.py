"""The design that differences are to, by hand."""

import pytest

from cosim.studies.reference import reference_of

pytestmark = pytest.mark.quick

BASE = {"num_cells": 2, "battery": None, "uplink": {"kind": "Radio", "snr_db": [3.0, 4.0], "power_w": 1.0}}
OTHER = BASE | {"num_cells": 4}


@pytest.mark.parametrize(
    ("systems", "grid", "reference"),
    [
        ([BASE], {}, 0),
        ([BASE, OTHER], {}, 0),
        ([BASE], {"num_cells": (1, 2, 3)}, 1),
        ([BASE], {"num_cells": (1, 3)}, 0),
        ([BASE, OTHER], {"num_cells": (1, 4)}, 3),
        ([BASE], {"uplink.power_w": (2, 1)}, 1),
        ([BASE], {"uplink.snr_db": ([3, 5], (3.0, 4.0))}, 1),
        ([BASE], {"uplink.kind": ("Cable", "Radio"), "num_cells": (1, 2)}, 3),
        ([BASE], {"uplink.length_m": (1.0, 2.0)}, 0),
        ([BASE], {"battery.kind": ("Battery", None)}, 1),
        ([BASE], {"battery.capacity_j": (1.0, None)}, 0),
    ],
)
def test_by_hand(systems, grid, reference):
    assert reference_of(dict(zip("ab", systems, strict=False)), grid) == reference
