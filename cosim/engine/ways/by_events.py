"""By events: ways of links that make their own uploads."""

from typing_extensions import override

from cosim.links.port import InRound, Sender
from cosim.links.upload import Upload
from cosim.links.way import Way


class EventsWay(Way):
    """Each upload as its link begins it."""

    @override
    def _open(self, sender: Sender) -> Upload:
        return self.link.open(sender.client, sender.payload, sender.job, sender.tx_power_w)

    @override
    def _uploads(self, of: InRound) -> None:
        return None
