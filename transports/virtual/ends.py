"""One rank's end of a simulated world: threads wait at it, messages are written into its inbox, and it leaves.

    a thread waits    `_wait` parks it; `wake_waiting` wakes it when something has come and its condition holds
    a rank leaves     close or kill ─► all that it has sent lands ─► the world notes it down ─► the others hear

Sends and the way of a message stand above: `waiting_sends` and `transports.sim`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transports.clock import SYSTEM, Clock, picoseconds
from transports.contract import Buffer, Inbox, Sink, Transport
from transports.errors import CLOSED, PeerLost, TransportClosed
from transports.virtual.clock import VirtualClock
from transports.virtual.inboxes import ExplainedQuestion, HearsLate, Waiting
from transports.virtual.medium import SimMessage, medium_of
from transports.virtual.rendezvous_sends import Offers
from transports.virtual.sim_thread import SimThread
from transports.virtual.worlds import ConnectedEnds


class SimEnd(Transport):
    """The state of one end, its messages under way, and the threads that wait at it. In slots, since a dictionary of 30 entries takes 1.6 KB."""

    __slots__ = (
        "_deliveries", "_farewell", "_has_left", "_inbox", "_is_closed", "_is_connected", "_is_limited", "_latest",
        "_lost", "_meeting", "_offers", "_outgoing", "_outgoing_bytes", "_reported", "_sends_waiting", "_told",
        "_waiters", "_working", "_world", "medium", "nth", "strict", "virtual",
    )  # fmt: skip

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, address, clock)
        if not isinstance(clock, VirtualClock):
            raise ValueError(
                "sim:// needs virtual time: give all its ranks one VirtualClock, or start them with "
                f"minitorch_dist.sim.run; this is a {type(clock).__name__}"
            )
        self.virtual, self.medium = clock, medium_of(clock, self.address)
        network = self.medium.network
        self._is_limited = network.eager is not None or network.window is not None  # sends may wait
        self._inbox: Inbox | None = None
        self._world: ConnectedEnds[Any] | None = None  # of ends of our class
        self._working: ConnectedEnds[Any] | None = None  # while it is connected and not closed
        self._lost: dict[int, PeerLost] = {}
        self._told = 0  # of the world's departures, how many our inbox knows
        self._waiters: list[tuple[SimThread, Callable[[], bool] | None]] = []
        self._offers: list[SimMessage] = []  # messages that wait until we wait
        self._meeting: SimMessage | None = None  # the one of them that is on its way
        self._outgoing = self._outgoing_bytes = 0  # messages of ours that have not landed
        self._latest: SimMessage | None = None  # what was sent last, until it has landed
        self._sends_waiting = 0
        self.strict: Offers | None = None  # messages that wait for their own receives
        self.nth: int | None = None  # of the message that lands, if its place does not tell (`fault_injector`)
        self._farewell = ""  # why we are gone, once all we sent has landed
        self._deliveries = self._reported = 0
        self._is_connected = self._is_closed = self._has_left = False

    @property
    def is_over(self) -> bool:
        return self._is_closed and not self._has_left

    def set_out(self, message: SimMessage) -> None:
        """Let the transfer of a message begin."""
        self._latest, self.last_sent = message, (message.dst.rank, message.header)
        self._outgoing += 1
        self._outgoing_bytes += message.nbytes
        medium = self.medium
        if medium.injector is None:
            medium.transmit(message)
        else:
            medium.injector.depart(message)

    def landed(self, message: SimMessage) -> None:
        """A message of ours has landed."""
        if message is self._latest:
            self._latest = None
        self._outgoing -= 1
        self._outgoing_bytes -= message.nbytes
        if self._sends_waiting and self._waiters and not self._is_closed:
            self.wake_waiting()
        if not self._outgoing and self._farewell:
            self._go()

    def take(self, message: SimMessage) -> None:
        """A message lands here."""
        src = message.src.rank
        if not (self._is_closed or message.is_void or src in self._lost):
            if message.ticket is not None:
                self.nth = message.ticket.nth
            sink = None if self.strict is None else self.strict.sink(message)
            self._deliver(src, message.header, message.payload, sink)
            self.nth = None
        elif self._has_left and not message.is_void:
            inbox: object = self._inbox
            if isinstance(inbox, HearsLate):
                inbox.missed(src, message.header)
        if self.strict is not None:
            self.strict.landed(message)
        if self._meeting is message:
            self._meeting = None
            self._accept()

    def _demand_open(self) -> ConnectedEnds[Any]:
        if self._is_closed:
            raise TransportClosed(f"rank {self.rank} has closed its {self.scheme} transport")
        if not self._is_connected or self._world is None:
            raise TransportClosed(f"rank {self.rank} has not connected its {self.scheme} transport")
        return self._world

    # ------------------------------------------------------------------------------------ waiting

    def _wait(
        self,
        ready: Callable[[], bool] | None,
        timeout: float | None,
        why: Callable[..., Waiting],
        about: tuple[Any, ...] = (),
    ) -> None:
        """Wait until something is delivered and, if it is given, `ready` says yes. `why(*about)` explains it."""
        me = self.virtual.me()
        entry = me, ready
        self._waiters.append(entry)
        world = self._world
        assert world is not None
        world.waiting[self] = None
        if self._offers:
            self._accept()
        try:
            self.virtual.park(None if timeout is None else picoseconds(timeout), why, me, about)
        finally:
            if entry in self._waiters:  # else `wake_waiting` has taken us out
                self._waiters.remove(entry)
                if not self._waiters:
                    world.waiting.pop(self, None)

    def _accept(self, polls: bool = False) -> None:
        """One offer at a time begins to come, while somebody here waits, or `polls`."""
        while self._offers and self._meeting is None and not self._is_closed:
            if not (polls or self._waiters):
                return
            message = self._meeting = self._offers.pop(0)
            assert isinstance(message.src, SimEnd)
            message.src.set_out(message)

    def rouse(self) -> None:
        """Something was delivered by others than the network."""
        self._deliveries += 1
        self.wake_waiting()

    def wake_waiting(self) -> None:
        """Wake the threads that wait here and have what they wait for, perhaps without any message."""
        waiting, self._waiters = self._waiters, []
        for entry in waiting:
            sim_thread, ready = entry
            if ready is None or self._is_closed or ready():
                self.virtual.wake(sim_thread)
            else:
                self._waiters.append(entry)
        if not self._waiters and self._world is not None:
            self._world.waiting.pop(self, None)

    def need_no_news(self) -> None:
        """The waiting thread knows when it will go on. It is told afterwards that others have left."""
        if self._world is not None:
            self._world.waiting.pop(self, None)

    def _explain(self, done: Callable[[], bool] | None) -> Waiting:
        return done.waiting_for() if isinstance(done, ExplainedQuestion) else Waiting((), "a message")

    # ------------------------------------------------------------------------------------ hearing

    def _deliver(self, src: int, header: bytes, payload: Buffer, sink: Sink | None = None) -> None:
        """To its `sink`, if it has been paired with a receive."""
        assert self._inbox is not None, "a rank that can be sent to has connected"
        if sink is None:
            sink = self._inbox.sink(src, header, len(payload))
        if payload:
            sink.write(memoryview(payload))
        self._deliveries += 1
        if self._waiters:
            self.wake_waiting()

    def _hear(self, world: ConnectedEnds[Any]) -> None:
        """Learn who has left."""
        while self._told < len(world.departed):
            rank, why = world.departed[self._told]
            self._told += 1
            self.lose(rank, why)

    def lose(self, peer: int, why: str) -> None:
        if self._is_closed or peer in self._lost or peer == self.rank or self._inbox is None:
            return
        error = self._lost[peer] = PeerLost(peer, why)
        self._inbox.lost(peer, error)
        self._deliveries += 1
        if self._waiters:
            self.wake_waiting()

    # ------------------------------------------------------------------------------------ leaving

    def close(self) -> None:
        if self._is_closed:
            return
        self._shut()
        self._has_left = True
        self.wake_waiting()
        if self._world is not None:
            self._flush(self._world)
        self._leave(CLOSED)

    def _flush(self, world: ConnectedEnds[Any]) -> None:
        """Finish what we have begun to send."""

    def _abandon(self) -> None:
        """Our rank is over."""
        self.kill("its thread ended without close")

    def kill(self, why: str) -> None:
        if not self._is_closed:
            self._shut()
            after = self.virtual.now() + self.medium.network.detection
            self.virtual.at(after, lambda: self._leave(why))

    def _shut(self) -> None:
        self._is_closed, self._working = True, None
        if self in self.medium.ends[self.rank]:
            self.medium.ends[self.rank].remove(self)

    def _leave(self, why: str) -> None:
        self._farewell = why
        if not self._outgoing:
            self._go()

    def _go(self) -> None:
        """All that we sent has landed: the others learn that we are gone."""
        world, why, self._farewell = self._world, self._farewell, ""
        if world is not None and world.ends.get(self.rank) is self:
            world.departed.append((self.rank, why))
            # a dictionary that had many entries takes long to go through, even when it is empty
            if world.waiting:
                for end in list(world.waiting):
                    if end._waiters and not end._is_closed:
                        end._hear(world)
