"""A listener of a `tcp` rank that stays open for ranks that come later. The driving thread watches it.

    newcomer                     a rank of the world, in its `progress`
    dial(card) ────────────────► listener is ready: admit ─► a stranger, whose socket is polled as well
    hello    ──────────────────► admit ─► the handshake is done: a link from now on

Nobody waits for a stranger: the handshake goes on whenever its next bytes are there (see `auth_listener`).
"""

from __future__ import annotations

import os
import select
import socket
from contextlib import suppress
from dataclasses import replace

from transports import job
from transports.clock import Clock, Deadline
from transports.errors import ConnectError, DistNetworkError, OtherJob
from transports.keys import world_key
from transports.sockets import endpoints, links
from transports.sockets.auth_listener import AuthListener, dial
from transports.sockets.handshake import Claim
from transports.sockets.links import PeerConnection
from transports.sockets.tls import Tls

KNOCK = 2.0  # seconds in which a rank that lives takes a connection


class JoinListener:
    """One rank's open listener. `poll` is that of its driver."""

    def __init__(
        self, rank: int, host: str, tls: Tls | None, poll: select.poll, clock: Clock
    ) -> None:
        self.rank, self._tls, self._poll, self._clock = rank, tls, poll, clock
        self._key = world_key("tcp transport")
        self._job = replace(job.here(), script="")
        self.listener = AuthListener(endpoints.listen(host, 0), self._key, clock, self._job)
        self._mark = os.urandom(8).hex()
        self._files: set[int] = set()  # of the listener, as the driver polls them
        self._see_to_it()

    @property
    def card(self) -> str:
        """Host, port, a random mark, and the kind of connection."""
        return f"{self.listener.host} {self.listener.port} {self._mark} {self._kind}"

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

    def reach(self, peer: int, card: str, deadline: Deadline) -> PeerConnection:
        """A connection to the rank with this card."""
        host, port, mark, kind = card.split()
        if kind != self._kind:
            raise ConnectError(
                f"rank {self.rank} is {self._kind}, and rank {peer} is {kind}: give all ranks the same "
                "address and the same MINITORCH_DIST_TLS_CERTIFICATE"
            )
        claim = Claim(self.rank, peer, mark.encode())
        try:
            connection = dial(host, int(port), self._key, claim, self._clock, deadline, self._job)
        except OtherJob:
            raise
        except DistNetworkError as error:
            raise ConnectError(f"rank {self.rank} did not reach rank {peer}: {error}") from error
        return self._link(peer, connection, False)

    def admit(self, file: int) -> list[PeerConnection]:
        """Called by the driver for a file that is no rank's. The result is the newcomers that have proved
        themselves by now."""
        found = []
        if file in self._files:
            for connection, claim in self.listener.admit([file]):
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
        """Poll whoever stands before the listener, and nobody else."""
        files = set(self.listener.files())
        for file in self._files - files:
            with suppress(KeyError, OSError):
                self._poll.unregister(file)
        for file in files - self._files:
            self._poll.register(file, select.POLLIN)
        self._files = files

    def _link(self, peer: int, connection: socket.socket, is_listener: bool) -> PeerConnection:
        if self._tls is not None:
            connection = self._tls.wrap(connection, is_listener, self._clock)
        links.prepare(connection)
        return PeerConnection(peer, connection, connection, self._clock)

    def close(self) -> None:
        self.listener.close()

    def __repr__(self) -> str:
        return f"<JoinListener of rank {self.rank}, {self.listener!r}>"
