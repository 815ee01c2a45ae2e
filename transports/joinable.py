"""Transports whose worlds grow: ranks come one after the other, and go while others stay.

    open      be there: the card that comes back says where            nobody else is needed
    reach     connect to a rank by its card; it lets us in while it drives
    is_there  whether anybody answers at a card: a killed rank leaves its card behind

The floor above keeps the ranks' cards, and knows which ranks are free (see `rpc.members`). A rank that was
lost may come again: a newcomer that reaches others under its number takes its place.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from transports.contract import Inbox, Store, Transport

ROOM: Final = 1 << 15  # ranks that a growing world may have, as many as torch's workers


class JoinableTransport(Transport):
    """A transport that can do so; its world_size is the number of places."""

    @abstractmethod
    def open(self, store: Store, inbox: Inbox) -> str:
        """Instead of `connect`: be there, alone at first; the card by which others reach us."""

    @abstractmethod
    def is_there(self, card: str) -> bool:
        """Whether a rank that once gave this card can still be reached."""

    @abstractmethod
    def reach(self, peer: int, card: str, timeout: float | None = None) -> None:
        """Let `peer` be sent to, and send to us; ConnectError says why that cannot be."""
