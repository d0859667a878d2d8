"""Activities in words: ours, and others by the name under which they were recorded."""

BACKHAUL = "backhaul"
"""A server that receives or sends a model."""

IDLE = "no activity"
"""Time in which a node wrote no span."""

_WORDS = {
    "receive": "receiving",
    "train": "training",
    "send": "sending",
    "wait": "waiting to send",
    "collect": "collecting",
    "idle": "idle",
    "sleep": "asleep",
    "empty": "battery empty",
}


def in_words(activity: str) -> str:
    """Activity of a client in words, such as "training"."""
    return _WORDS.get(activity, activity)


def of_node(node: str, activity: str) -> str:
    """Activity of a node in words: models that servers move travel over the backhaul."""
    is_server = not node.startswith("client")
    return BACKHAUL if is_server and activity in ("receive", "send") else in_words(activity)
