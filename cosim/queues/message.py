"""Message: what a sender has put into a queue, one packet or several."""

from cosim.clock.simulation import Event


class Message:
    """One packet or several that a sender has put into a queue.

    Attributes:
        sender: Name of the sender.
        num_packets: Number of its packets.
        num_served: Number of its packets that were served.
        done: Event when all were served.
    """

    def __init__(self, sender: str, num_packets: int, done: Event) -> None:
        self.sender = sender
        self.num_packets = num_packets
        self.num_served = 0
        self.done = done

    def count_served(self) -> None:
        """Count a packet that has left."""
        self.num_served += 1
        if self.num_served == self.num_packets:
            self.done.succeed()
