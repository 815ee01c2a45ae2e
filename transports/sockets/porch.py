"""Where a `tcp` rank lets in who comes later: a door that stays open, watched by whoever drives.

    newcomer                     a rank of the world, in its `progress`
    dial(card) ────────────────► listener is ready: admit ─► a guest, whose socket is polled as well
    hello    ──────────────────► admit ─► the handshake is done: a link from now on

Nobody waits for a guest: the handshake goes on whenever its next bytes are there (see `door`).
"""

from __future__ import annotations

import os
import select
import socket
from contextlib import suppress

from transports.clock import Clock, Deadline
from transports.errors import ConnectError
from transports.keys import world_key
from transports.sockets import endpoints, links
from transports.sockets.door import Door, dial
from transports.sockets.handshake import Claim
from transports.sockets.links import Link
from transports.sockets.tls import Tls

KNOCK = 2.0  # seconds in which a rank that lives takes a connection


class Porch:
    """One rank's open door. `poll` is that of its driver."""

    def __init__(
        self, rank: int, host: str, tls: Tls | None, poll: select.poll, clock: Clock
    ) -> None:
        self.rank, self._tls, self._poll, self._clock = rank, tls, poll, clock
        self._key = world_key("tcp transport")
        self.door = Door(endpoints.listen(host, 0), self._key, clock)
        self._mark = os.urandom(8).hex()
        self._files: set[int] = set()  # of the door, as the driver polls them
        self._see_to_it()

    @property
    def card(self) -> str:
        """Host, port, a random mark, and the kind of connection."""
        return f"{self.door.host} {self.door.port} {self._mark} {self._kind}"

    @property
    def _kind(self) -> str:
        return "encrypted" if self._tls else "plain"

    def is_there(self, card: str) -> bool:
        """Whether somebody listens at this card."""
        host, port = card.split()[:2]
        try:
            socket.create_connection((host, int(port)), timeout=KNOCK).close()
        except OSError:
            return False
        return True

    def reach(self, peer: int, card: str, deadline: Deadline) -> Link:
        """A connection to the rank with this card."""
        host, port, mark, kind = card.split()
        if kind != self._kind:
            raise ConnectError(
                f"rank {self.rank} is {self._kind}, and rank {peer} is {kind}: give all ranks the same "
                "address and the same MINITORCH_DIST_TLS_CERTIFICATE"
            )
        claim = Claim(self.rank, peer, mark.encode())
        return self._link(
            peer, dial(host, int(port), self._key, claim, self._clock, deadline), False
        )

    def look(self, file: int) -> list[Link]:
        """Called by the driver for a file that is no rank's: who has proved itself by now."""
        found = []
        if file in self._files:
            for connection, claim in self.door.admit([file]):
                if claim.dst == self.rank != claim.src and claim.world == self._mark.encode():
                    with suppress(OSError):
                        self._poll.unregister(connection)
                    self._files.discard(connection.fileno())
                    found.append(self._link(claim.src, connection, True))
                else:
                    connection.close()
            self._see_to_it()
        return found

    def _see_to_it(self) -> None:
        """Poll whoever stands before the door, and nobody else."""
        files = set(self.door.files())
        for file in self._files - files:
            with suppress(KeyError, OSError):
                self._poll.unregister(file)
        for file in files - self._files:
            self._poll.register(file, select.POLLIN)
        self._files = files

    def _link(self, peer: int, connection: socket.socket, is_listener: bool) -> Link:
        if self._tls is not None:
            connection = self._tls.wrap(connection, is_listener, self._clock)
        links.prepare(connection)
        return Link(peer, connection, connection, self._clock)

    def close(self) -> None:
        self.door.close()

    def __repr__(self) -> str:
        return f"<Porch of rank {self.rank}, {self.door!r}>"
