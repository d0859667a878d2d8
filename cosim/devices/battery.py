"""Battery: how much energy a device has at most, and how it is charged.

Usage::

    DrawnDevices(idle_w=0.01, battery=Battery(capacity_j=500.0, charge_w=0.5))

Scope and limitations: charging is constant, all the time, without losses, and a battery does not age.
"""

from cosim.configuration import between, knob, not_negative, part, positive


@part
class Battery:
    """A battery, charged at one power up to its capacity.

    Attributes:
        capacity_j: Energy when it is full. [no source]
        initial_share: Of its capacity, at the start of a run. [no source]
        charge_w: Power that charges it, all the time; 0: nothing does. [no source]
        returns_at_share: Of its capacity, with which a device whose battery was empty is there again. [no
            source]
    """

    capacity_j: float = knob(positive, default=1000.0)
    initial_share: float = knob(between(0.0, 1.0), default=1.0)
    charge_w: float = knob(not_negative, default=0.0)
    returns_at_share: float = knob(positive, between(0.0, 1.0), default=0.1)
