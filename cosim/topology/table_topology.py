"""Table topology: distances of devices from their edge server, from a table of devices.

Scope and limitations: distances only; the graph draws the direction of a client from its site.
"""

import math

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from cosim.clock.draws import Numbers
from cosim.clock.simulation import Simulation
from cosim.configuration import part
from cosim.names import by_number
from cosim.tables.devices import table_of_devices
from cosim.tables.faults import reads
from cosim.topology.port import Source, Topology


@part
class TableTopology(Topology):
    """Distances from a table, with one row for every client.

    Attributes:
        file: A csv or Parquet file with the columns device and distance_m; required. [no source]
    """

    file: str = ""

    @override
    def files(self) -> tuple[str, ...]:
        return (self.file,)

    @override
    @reads("file")
    def distances_m(self, sim: Simulation, clients: Numbers) -> NDArray[np.float64]:
        rows = table_of_devices(TableTopology, self.file)
        found = rows.table.numbers("distance_m", least=-math.inf)
        rows.table.check("distance_m", found <= 0.0, "is not above 0", "a distance above 0")
        return rows.by_client(clients, found)

    @override
    def source_of(self, client: str) -> Source:
        rows = table_of_devices(TableTopology, self.file)
        place = rows.table.place(rows.row_of(by_number(client)[1]), "distance_m")
        return Source(place, f"{type(self).__name__}.file")
