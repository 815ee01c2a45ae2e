"""Ranks are processes, on one host or several: a full mesh of TCP connections.

    connect     every rank leaves its address in the store, dials the ranks below it and lets in
                those above it (`mesh`); both prove that they hold the job's key (`handshake`)
    send        frame, header and payload in one call to the system, from the caller's buffer
    progress    poll, then read straight into the sink (`links`): no thread stands between
    close       leave when the peers' hosts have what was sent (`farewell`)

Where all ranks share a host they listen on loopback only; otherwise each uses the address from
which it reaches the store (or the network card named by MINITORCH_DIST_INTERFACE, or by
GLOO_SOCKET_IFNAME). With certificates everything after the handshake is encrypted (`tls`).
"""

from __future__ import annotations

import logging
import select
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from transports import frames, rendezvous
from transports.clock import ASIDE, PICO, SYSTEM, Clock, Deadline, Yielding
from transports.contract import Inbox, Store
from transports.costs import MessageCosts
from transports.driven import DrivenTransport
from transports.errors import DistError, PeerLost, TransportClosed
from transports.frames import Buffer, flat
from transports.sockets import endpoints, links, liveness, tls
from transports.sockets.farewell import say_goodbye
from transports.sockets.links import PeerConnection
from transports.sockets.liveness import SLICE
from transports.sockets.mesh import ConnectionMesh

SPINS = 40  # looks at the sockets before the system is asked to wake us (but see `clock.ASIDE`)
JOINED = 1 << 12  # bytes up to which copying a payload behind its header is faster than a list
_log = logging.getLogger("transports.tcp")
CUT = "this rank was interrupted in the middle of receiving from it, and what follows cannot be read"


class TcpTransport(DrivenTransport):
    """One rank's end of the mesh."""

    scheme = "tcp"
    costs = MessageCosts(40e-6, 2e9)  # 10 µs where each rank has a core of its own
    _inbox: Inbox  # once it is open

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, address, clock)
        self._tls = tls.find(endpoints.split(self.address)[2])
        self._links: dict[int, PeerConnection] = {}
        self._by_file: dict[int, PeerConnection] = {}
        self._poll = select.poll()  # touched only by the thread that drives
        self._scratch = memoryview(bytearray(links.SCRATCH))
        self._waits = 0
        self._yielding = Yielding()
        self._checked = clock.now()  # around, at the peers' hosts
        self._unsettled: tuple[PeerConnection, str] | None = None  # what an interrupt left undone
        self.host, self.port = "", 0

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        deadline = self.clock.deadline(timeout)
        mesh = ConnectionMesh(self.rank, self.world_size, store, self._tls, self.clock, deadline)
        mesh.join(endpoints.split(self.address)[0] or getattr(rendezvous.innermost(store), "host", ""))
        self.host, self.port = mesh.host, mesh.port
        self._links = mesh.links
        for link in self._links.values():
            self._watch(link)
        self._inbox, self._state = inbox, "open"

    def _watch(self, link: PeerConnection) -> None:
        self._links[link.peer] = self._by_file[link.incoming.fileno()] = link
        self._poll.register(link.incoming, select.POLLIN)

    # -- receiving --------------------------------------------------------------------------

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        seen = self._reported if done is None else self._deliveries
        if self._turn.try_take() or self._wait_beside(timeout, seen, done):
            try:
                is_new = self._state == "open" and self._deliveries == seen
                if is_new and not (done is not None and done()):  # nothing came before our turn
                    self._drive(timeout)
            finally:
                self._turn.token.append(True)
                self._turn.tell()
        self._demand_open()
        return self._report()

    def _drive(self, timeout: float | None) -> None:
        """Poll and deliver: at once, after a little spinning, or when the system wakes us."""
        if self._unsettled is not None:
            self._lose(*self._unsettled)
        ready = self._poll.poll(0)
        if not ready:
            self._check_hosts()
            if timeout != 0:
                ready = self._spin() or self._sleep(self.clock.deadline(timeout))
        self._deliver(ready)

    def _spin(self) -> list[tuple[int, int]]:
        """Look a few times more, and let others have the core in between. Not amid a message: its sender
        is at work, and on a busy host a core that is given away comes back late."""
        self._waits += 1
        if self._waits % ASIDE == 0 or any(link.is_amid for link in self._by_file.values()):
            return []
        for _ in range(SPINS):
            if not self._yielding.give():
                break
            if ready := self._poll.poll(0):
                return ready
        return []

    def _sleep(self, deadline: Deadline) -> list[tuple[int, int]]:
        before = self._deliveries
        while True:
            left = deadline.left()
            ready = self._poll.poll(1000 * (SLICE if left is None else min(left, SLICE)))
            self._check_hosts()
            if ready or deadline.is_over() or self._deliveries != before:
                return ready

    def _check_hosts(self) -> None:
        """Now and then: does every peer's host still acknowledge what it gets?"""
        now = self.clock.now()
        if now - self._checked >= SLICE * PICO:
            self._checked = now
            for link in [link for link in self._by_file.values() if link.is_unheard()]:
                self._lose(link, liveness.SILENT)

    def _deliver(self, ready: list[tuple[int, int]]) -> None:
        for file, _ in ready:
            link = self._by_file.get(file)
            if link is None:  # lost a moment ago
                continue
            self._unsettled = link, CUT  # in case that we are interrupted
            try:
                if link.receive(self._inbox, self._scratch):
                    self._deliveries += 1
                self._unsettled = None
            except (EOFError, OSError, frames.FrameError) as error:
                self._lose(link, link.why_ended(error))

    def _lose(self, link: PeerConnection, reason: str) -> None:
        """Give up a peer. If this is interrupted, the next driver begins it anew."""
        self._unsettled = link, reason
        self._by_file.pop(link.incoming.fileno(), None)
        with suppress(KeyError):
            self._poll.unregister(link.incoming)
        link.hang_up()
        if self._state == "open":
            link.lost = PeerLost(link.peer, link.verdict or reason)
            self._inbox.lost(link.peer, link.lost)
            self._deliveries += 1
        self._unsettled = None

    # -- sending ----------------------------------------------------------------------------

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        view = flat(header, payload)
        link = self._links.get(dst)
        if link is None or self._state != "open":
            self._demand_open()
            raise self._no_rank(dst)
        head = frames.pack(len(header), view.nbytes) + header
        parts: Sequence[Buffer] = [head + view] if view.nbytes <= JOINED else [head, view]
        link.sending.try_take() or link.sending.take(self.clock.deadline(None))
        try:
            link.is_half_sent = True
            try:
                out = link.outgoing
                sent = out.send(parts[0]) if len(parts) == 1 else out.sendmsg(parts)
            except BlockingIOError:
                sent = 0
            if sent < len(head) + view.nbytes:
                self._send_rest(link, parts, sent)
            link.is_half_sent = False
        except OSError as error:
            link.is_half_sent = False
            raise self._send_failed(link, error) from error
        finally:
            if link.is_half_sent:
                link.break_off()
            link.sending.token.append(True)
            link.sending.tell()

    def _send_rest(self, link: PeerConnection, parts: Sequence[Buffer], sent: int) -> None:
        """Deliver what arrives until there is room for the rest, or the peer has taken nothing for
        too long."""
        deadline = self.clock.deadline(self.patience)
        try:
            while rest := _after(parts, sent):
                parts = rest
                if sent:
                    deadline = self.clock.deadline(self.patience)
                if deadline.is_over():
                    link.verdict = f"it took nothing of a message for {self.patience} s"
                    raise PeerLost(link.peer, link.verdict)
                self._make_way(link, deadline.left())
                try:
                    sent = link.outgoing.sendmsg(parts)
                except BlockingIOError:
                    sent = 0
        except DistError:  # it is known what has become of the message
            link.is_half_sent = False
            link.hang_up()  # half a message is out: nothing that follows would make sense
            raise

    def _make_way(self, link: PeerConnection, left: float | None) -> None:
        """Wait a moment for room, driving if nobody else does."""
        self._demand_open()
        if link.lost is not None:
            raise PeerLost(link.peer, link.lost.why)
        if not self._turn.try_take():
            poll = select.poll()
            poll.register(link.outgoing, select.POLLOUT)
            poll.poll(5)
            return
        try:
            if self._state == "open":
                self._drive_for_room(link, SLICE if left is None else min(left, SLICE))
        finally:
            self._turn.token.append(True)
            self._turn.tell()

    def _drive_for_room(self, link: PeerConnection, seconds: float) -> None:
        both = link.incoming is link.outgoing
        watched = select.POLLOUT | (select.POLLIN if both else 0)
        self._poll.register(link.outgoing, watched)
        try:
            ready = self._poll.poll(1000 * seconds)
            self._check_hosts()
        finally:
            if not both:
                self._poll.unregister(link.outgoing)
            elif link.incoming.fileno() in self._by_file:
                self._poll.register(link.incoming, select.POLLIN)
        others = select.POLLIN | select.POLLHUP | select.POLLERR
        self._deliver([(file, event) for file, event in ready if event & others])

    def _send_failed(self, link: PeerConnection, error: OSError) -> PeerLost | TransportClosed:
        """The error of a failed send: a connection that was given up is shut, so no send succeeds.

        `progress` tells the inbox, after the peer's messages.
        """
        if self._state != "open":
            return TransportClosed(f"rank {self.rank} closed its tcp transport during a send")
        if link.lost is not None or link.verdict:
            return PeerLost(link.peer, link.verdict if link.lost is None else link.lost.why)
        return PeerLost(link.peer, f"its connection broke while we sent: {error.strerror}")

    # -- closing ----------------------------------------------------------------------------

    def close(self) -> None:
        was_open, self._state = self._state == "open", "closed"
        if not was_open:
            return
        with suppress(OSError):
            self._links[self.rank].outgoing.shutdown(socket.SHUT_WR)  # wakes the driver
        self._turn.wake()
        with self._turn.held(self.clock):
            others = [link for link in self._links.values() if link.peer != self.rank]
            late = say_goodbye(others, self._scratch, self.clock)
            if late:
                _log.warning(
                    "rank %d leaves, and its last words have not come to the hosts of the ranks %s. These are off, "
                    "cut off from us, or take nothing",
                    self.rank,
                    rendezvous.listed(late),
                )
            for link in self._links.values():
                with link.sending.held(self.clock):
                    link.close()


def _after(parts: Sequence[Buffer], sent: int) -> Sequence[Buffer]:
    """The rest of `parts` once `sent` bytes are gone."""
    while parts and sent >= len(parts[0]):
        sent -= len(parts[0])
        parts = parts[1:]
    return [memoryview(parts[0])[sent:], *parts[1:]] if parts else []
