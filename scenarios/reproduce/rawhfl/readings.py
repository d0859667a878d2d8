"""Readings of the RawHFL paper: its algorithms as its text has them, and as the energies of its tables do.

The paper leaves open what a link gains and loses beside its path, with which selection Algorithm 2 starts,
and how the baselines clock and send. `TABLES` is the reading by which its energies come out. It contradicts
the text in two places: powers are not planned, and clients of H-FedAvg-M2 do as many steps as each can.
`PRINTED` keeps to the text. `cosim reproduce rawhfl-energies` holds both, and each difference alone, against
the tables.
"""

from collections.abc import Callable
from typing import Literal

import attrs

import cosim
from scenarios.papers.rawhfl import (
    Algorithm2,
    CommonSteps,
    EqualShares,
    InitialSelection,
    RandomSelection,
    ResourceAware,
    Unconstrained,
)

Change = Callable[[cosim.System], cosim.System]


def planned_by(
    policy: ResourceAware | CommonSteps | Unconstrained,
    num_blocks: int,
) -> Change:
    """The scenario with a policy, and a number of resource blocks in a cell."""

    def change(system: cosim.System) -> cosim.System:
        return cosim.evolve(
            system,
            uplink=cosim.evolve(system.uplink, sharing=cosim.radio.ResourceBlocks(num_blocks=num_blocks)),
            protocol=cosim.evolve(system.protocol, policy=policy),
        )

    return change


def single_server(system: cosim.System) -> cosim.System:
    """FedAvg: the edges only relay, so that the cloud combines after every edge round."""
    system = planned_by(Unconstrained(), 12)(system)
    return cosim.evolve(system, protocol=cosim.evolve(system.protocol, num_edge_rounds=1, relays=True))


def central(system: cosim.System) -> cosim.System:
    """One place holds the requests of all users and trains as many steps as a client of H-FedAvg-UB."""
    return planned_by(Unconstrained(), 1)(cosim.evolve(system, num_cells=1, num_clients=1))


def with_floors(change: Change) -> Change:
    """The same on devices that clock no lower than 300 MHz and draw 0.1 W while busy. [no source]"""

    def changed(system: cosim.System) -> cosim.System:
        devices = cosim.evolve(system.devices, lowest_frequency_hz=0.3e9, static_power_w=0.1)
        return change(cosim.evolve(system, devices=devices))

    return changed


@attrs.frozen(kw_only=True)
class Reading:
    """How the paper is read where it leaves something open, or where its energies speak against its text.

    Attributes:
        antenna_gain_db: Gains of the antennas of both ends together.
        noise_figure_db: Noise figure of the edge server.
        plans_power: True if transmit powers are planned; otherwise all send at their highest.
        initial_selection: Selection in the initial point of Algorithm 2.
        own_steps: True if each client of H-FedAvg-M2 does the most steps that it can itself.
    """

    antenna_gain_db: float = 0.0
    noise_figure_db: float = 0.0
    plans_power: bool = True
    initial_selection: InitialSelection = attrs.field(factory=EqualShares)
    own_steps: bool = False

    @property
    def gain_db(self) -> float:
        """Gain of a link beside its path, over thermal noise."""
        return self.antenna_gain_db - self.noise_figure_db

    @property
    def algorithms(self) -> dict[str, Change]:
        """The paper's algorithms; RawHFL plans by Algorithm 2 as in the paper, "exact" by the optimum."""
        solver, optimum = (
            Algorithm2(initial_selection=self.initial_selection),
            ResourceAware(plans_power=self.plans_power),
        )
        floored = cosim.evolve(optimum, lowest_power_dbm=0.0 if self.plans_power else None)
        found = {
            **{f"RawHFL, Z={z}": planned_by(cosim.evolve(optimum, solver=solver), z) for z in (2, 4, 6)},
            **{f"exact, Z={z}": planned_by(optimum, z) for z in (2, 4, 6)},
            "exact, Z=4, floors": with_floors(planned_by(floored, 4)),
            "H-FedAvg-UB, floors": with_floors(planned_by(Unconstrained(), 12)),
            "central SGD": central,
            "H-FedAvg-M1": planned_by(CommonSteps(drop_stragglers=False), 12),
            "H-FedAvg-M2": planned_by(CommonSteps(own_steps=self.own_steps), 12),
            "H-FedAvg-UB": planned_by(Unconstrained(), 12),
            "FedAvg-UB": single_server,
        }
        return {name: self._over_its_link(change) for name, change in found.items()}

    def _over_its_link(self, change: Change) -> Change:
        def changed(system: cosim.System) -> cosim.System:
            uplink = system.uplink
            assert isinstance(uplink, cosim.Radio)
            link = cosim.evolve(
                uplink.link, noise_figure_db=self.noise_figure_db, antenna_gain_db=self.antenna_gain_db
            )
            return change(cosim.evolve(system, uplink=cosim.evolve(uplink, link=link)))

        return changed


PRINTED = Reading()
TABLES = Reading(
    antenna_gain_db=8.0,  # an element of TR 38.901, Table 7.3-1
    noise_figure_db=5.0,
    plans_power=False,
    initial_selection=RandomSelection(),
    own_steps=True,
)
"""The reading by which the energies of Tables II to IV come out: `rawhfl-energies`."""
READINGS = {
    "tables": TABLES,
    "printed": PRINTED,
    "no-gain": attrs.evolve(TABLES, antenna_gain_db=0.0, noise_figure_db=0.0),
    "planned-power": attrs.evolve(TABLES, plans_power=True),
    "equal-shares": attrs.evolve(TABLES, initial_selection=EqualShares()),
    "common-steps": attrs.evolve(TABLES, own_steps=False),
}
"""By name; the last four are the reading of the tables without one of its parts."""
Name = Literal["tables", "printed", "no-gain", "planned-power", "equal-shares", "common-steps"]
