"""A job that the clock hardly tells from nothing, so late does it begin, is refused before it starts."""

import pytest
import worlds

import cosim
from cosim import AfterRounds, ConfigurationError, Never

LATE_HZ = worlds.STEPS * worlds.STEP_CYCLES / 4e8
"""A training of 4e8 s, after which the clock has steps of a microsecond."""


def two_rounds(fast_hz: float) -> cosim.System:
    return worlds.one_cell(fast_hz, LATE_HZ, evaluation=Never(), end=AfterRounds(num_global_rounds=2))


@pytest.mark.parametrize("clock", ["events", "arrays"])
def test_a_training_of_less_than_a_thousand_steps(clock):
    """0.3 ms would be 300 of them, 30 ms are 30,000."""
    said = "client-0000 would train for 0.0003 s at 400000000.* Use times since the start of the run"
    with pytest.raises(ConfigurationError, match=said):
        cosim.run(two_rounds(1e10), clock=clock)
    assert cosim.run(two_rounds(1e8), clock=clock).summary.num_updates == 4
