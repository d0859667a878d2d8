"""Battery: the most energy that a device can store, and how it is charged.

Usage::

    DrawnDevices(idle_w=0.01, battery=Battery(capacity_j=500.0, charge_w=0.5))

Scope and limitations: charging is constant, all the time, without losses, and a battery does not age.
"""

from cosim.configuration import a_share, knob, not_negative, part, positive, refuse


@part
class Battery:
    """Store of a device's energy, charged at a constant power.

    Attributes:
        capacity_j: Energy of the full battery. [no source]
        initial_share: Share of the capacity at the start of a run. [no source]
        charge_w: Charging power, all the time; 0 means that it is not charged. [no source]
        returns_at_share: Share of the capacity with which a device returns after its battery was empty. [no
            source]
    """

    capacity_j: float = knob(positive, default=1000.0)
    initial_share: float = knob(a_share, default=1.0)
    charge_w: float = knob(not_negative, default=0.0)
    returns_at_share: float = knob(positive, a_share, default=0.1)

    def __attrs_post_init__(self) -> None:
        if not (self.initial_share or self.charge_w):
            rule = "an empty battery that nothing charges stays empty"
            raise refuse(
                "Battery", "initial_share", self.initial_share, rule, "Use a share or a charge_w above 0."
            )
