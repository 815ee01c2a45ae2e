"""How the ranks of a `tcp` world come together: a connection for each pair.

    rank 0 listens ◄──┬── rank 1 dials, listens ◄──┬── rank 2 dials both
                      └────────────────────────────┘

Two rounds through the store: first on which host everybody is, so that a world on one host stays on
its loopback; then where everybody listens. Each rank dials those below it and lets in those above.
Once all are there nobody listens any more.
"""

from __future__ import annotations

import os
import socket
from dataclasses import replace

from transports import job, rendezvous
from transports.clock import Clock, Deadline
from transports.contract import Store
from transports.errors import ConnectError, DistNetworkError, OtherJob
from transports.keys import world_key
from transports.sockets import endpoints, links
from transports.sockets.auth_listener import AuthListener, dial
from transports.sockets.handshake import Claim
from transports.sockets.links import PeerConnection
from transports.sockets.tls import Tls

SLICE = 1.0  # seconds between two looks at the deadline


class ConnectionMesh:
    """One rank's connections to all others, while they are being made."""

    def __init__(
        self, rank: int, world_size: int, store: Store, tls: Tls | None, clock: Clock, deadline: Deadline
    ) -> None:
        self.rank, self.world_size = rank, world_size
        self._store, self._tls, self._clock, self._deadline = store, tls, clock, deadline
        self._key = world_key("tcp transport")
        # Those who share a store may be different scripts; a launcher's id is the same all the same.
        self._job = replace(job.here(world_size, rank), script="")
        self.links: dict[int, PeerConnection] = {}
        self.host, self.port = "", 0

    def join(self, towards: str) -> None:
        """Connect to all; ConnectError names who is missing. `towards` is a host of this network,
        if one is known."""
        hosts = self._exchange("tcp/host", endpoints.host_mark())
        host = "127.0.0.1" if len(set(hosts)) == 1 else endpoints.own_address(towards)
        listener = AuthListener(endpoints.listen(host, 0), self._key, self._clock, self._job)
        self.host, self.port = listener.host, listener.port
        try:
            cards = self._show_cards()
            world = cards[0][2].encode()  # a mark that is the same for all ranks of this world
            for peer in range(self.rank):
                self._dial(peer, cards[peer][0], int(cards[peer][1]), world)
            self._let_in(listener, world)
            self.links[self.rank] = oneself(self.rank, self._clock)
        except BaseException:
            for link in self.links.values():
                link.close()
            raise
        finally:
            listener.close()

    def _show_cards(self) -> list[list[str]]:
        """Host, port, a random mark, and the kind of connection, of every rank."""
        kind = "encrypted" if self._tls else "plain"
        card = f"{self.host} {self.port} {os.urandom(8).hex()} {kind}"
        cards = [card.split() for card in self._exchange("tcp", card)]
        others = [rank for rank, card in enumerate(cards) if card[3] != kind]
        if others:
            raise ConnectError(
                f"rank {self.rank} is {kind}, and ranks {rendezvous.listed(others)} are not: "
                "give all ranks the same address and the same MINITORCH_DIST_TLS_CERTIFICATE"
            )
        return cards

    def _exchange(self, name: str, card: str) -> list[str]:
        cards = rendezvous.exchange(
            self._store, name, self.rank, self.world_size, card.encode(), self._clock, self._deadline.left()
        )
        return [card.decode() for card in cards]

    def _dial(self, peer: int, host: str, port: int, world: bytes) -> None:
        claim = Claim(self.rank, peer, world)
        try:
            connection = dial(host, port, self._key, claim, self._clock, self._deadline, self._job)
        except OtherJob:
            raise
        except DistNetworkError as error:
            raise self._missed([peer], f" ({error})") from error
        self._add(peer, connection, is_listener=False)

    def _let_in(self, listener: AuthListener, world: bytes) -> None:
        """Wait for the ranks above us."""
        missing = list(range(self.rank + 1, self.world_size))
        while missing:
            if self._deadline.is_over():
                raise self._missed(missing, f" (at {listener!r})")
            left = self._deadline.left()
            for connection, claim in listener.wait(SLICE if left is None else min(left, SLICE)):
                if claim.dst == self.rank and claim.world == world and claim.src in missing:
                    self._add(claim.src, connection, is_listener=True)
                    missing.remove(claim.src)
                else:
                    connection.close()

    def _missed(self, ranks: list[int], why: str) -> ConnectError:
        seconds = self._deadline.elapsed()
        return rendezvous.missed("tcp", self.rank, self.world_size, ranks, seconds, why)

    def _add(self, peer: int, connection: socket.socket, is_listener: bool) -> None:
        if self._tls is not None:
            connection = self._tls.wrap(connection, is_listener, self._clock)
        links.prepare(connection)
        self.links[peer] = PeerConnection(peer, connection, connection, self._clock)


def oneself(rank: int, clock: Clock) -> PeerConnection:
    """The link for messages to oneself. They take the same way, and closing this link wakes the driver."""
    incoming, outgoing = socket.socketpair()
    incoming.setblocking(False)
    outgoing.setblocking(False)
    return PeerConnection(rank, incoming, outgoing, clock)
