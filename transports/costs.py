"""The cost of a medium's messages, as its transport declares it; the algorithms are chosen by it."""

from __future__ import annotations

from typing import NamedTuple


class MessageCosts(NamedTuple):
    """Rough figures of one host; they need not be measured anew for each machine."""

    latency: float  # seconds for each message
    bandwidth: float  # bytes a second
    reduction: float = 8e9  # bytes a second, of numbers that are added up
