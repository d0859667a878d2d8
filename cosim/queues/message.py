"""Message: what a sender has put into a queue, one packet or several."""

from cosim.clock.simulation import Event


class Message:
    """What a sender has put into a queue.

    Attributes:
        sender: Who sent it.
        num_packets: Its packets.
        num_served: Those that were served.
        done: Comes when all were served.
    """

    def __init__(self, sender: str, num_packets: int, done: Event) -> None:
        self.sender = sender
        self.num_packets = num_packets
        self.num_served = 0
        self.done = done

    def count_served(self) -> None:
        """Note that a packet has left."""
        self.num_served += 1
        if self.num_served == self.num_packets:
            self.done.succeed()
