"""Ranks are threads in virtual time, and what they send takes as long as a network would.

Only the `medium` knows how long. A send hands its message over, and when it lands, by itself, it is written
into the receiver's sink. The receiver need not do anything. Only a thread that waits for it is
woken: `done` is asked before a thread is switched to. A message that is already there costs no switch.

    with a clock            clock = VirtualClock(); SimTransport(rank, world_size, clock=clock)
    with a network          medium.attach(clock, Network(two_level(…)))     before the first transport
    or by address           SimTransport(rank, size, "sim://?latency=2us&rate=100Gb/s", clock)

The ranks find each other through the store (`virtual.worlds`). This is the way of a message. Beneath it stand the threads
that wait at an end and how it leaves (`virtual.ends`), and sends that wait for room or for their receiver
(`virtual.waiting_sends`).
"""

from __future__ import annotations

from collections.abc import Callable

from transports import rendezvous
from transports.contract import MAX_HEADER, Buffer, Inbox, Store, flat, is_unwritten, length_only
from transports.errors import PeerLost
from transports.virtual import worlds
from transports.virtual.medium import SimMessage
from transports.virtual.waiting_sends import WaitingSends


class SimTransport(WaitingSends):
    """One rank's end. The rank is the simulated thread that connects with its helpers; when it is over without
    having closed, it is dead."""

    __slots__ = ()

    scheme = "sim"
    ranks_are = "threads"
    needs_virtual_time = True
    last_sent: tuple[int, bytes] | None = None

    # --------------------------------------------------------------------------------- connecting

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        self._inbox = inbox
        self._pair_with_receives(inbox)
        world = self._world = worlds.find(self, store)
        if self.rank in world.ends:
            raise rendezvous.taken(self.scheme, self.rank)
        world.ends[self.rank] = self
        self.medium.ends[self.rank].append(self)
        self.virtual.when_over(self._abandon)
        world.gather(self, self.virtual, timeout)
        self._is_connected = True
        self._working = None if self._is_closed else world

    # ------------------------------------------------------------------------------------ sending

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        world = self._working or self._demand_open()
        if type(payload) is not bytes or len(header) > MAX_HEADER:
            payload = flat(header, payload)
        if self._told < len(world.departed):
            self._hear(world)
        if dst in self._lost:
            raise PeerLost(dst, self._lost[dst].why)
        if dst == self.rank:
            return self._deliver(self.rank, header, payload)
        peer, medium = world.ends.get(dst), self.medium
        if peer is None:
            raise self._nobody(dst)
        copy = length_only(payload) if is_unwritten(payload) else bytes(payload)  # of bytes it is none
        message = SimMessage(medium, self, peer, header, copy)
        if medium.witness is not None:
            medium.witness("send", self.rank, dst, message.nbytes, header, copy)
        may_wait = peer.strict is not None or medium.meets is not None or self._is_limited
        if may_wait and not self._goes_by_itself(peer, message):
            return None
        self.set_out(message)

    @property
    def under_way(self) -> tuple[int, bytes] | None:  # type: ignore[override]
        """To whom the last message went, and its header, if it has not landed yet."""
        latest = self._latest
        return None if latest is None else (latest.dst.rank, latest.header)

    @property
    def is_unreliable(self) -> bool:  # type: ignore[override]
        """Whether what comes here may be a copy, and what was sent may be lost."""
        injector = self.medium.injector
        return injector is not None and injector.is_unreliable

    # ---------------------------------------------------------------------------------- receiving

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        world = self._working or self._demand_open()
        if self._told < len(world.departed):
            self._hear(world)
        if done is not None or self._deliveries == self._reported:
            if timeout == 0:
                if self._offers:
                    self._accept(polls=True)
                if self._deliveries == self._reported:
                    self.virtual.poll()
            elif done is None or not done():
                self._wait(done, timeout, self._explain, (done,))
                if self._working is None:
                    self._demand_open()
        found, self._reported = self._deliveries > self._reported, self._deliveries
        return found
