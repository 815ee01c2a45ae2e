"""Ranks are threads in virtual time, and what they send takes as long as a network would.

Only the `medium` knows how long. A send hands its message over, and when it lands, by itself, it is written
into the receiver's sink. The receiver need not do anything. Only a thread that waits for it is
woken: `done` is asked before a thread is switched to. A message that is already there costs no switch.

    with a clock            clock = VirtualClock(); SimTransport(rank, world_size, clock=clock)
    with a network          medium.attach(clock, Network(two_level(…)))     before the first transport
    or by address           SimTransport(rank, size, "sim://?latency=2us&rate=100Gb/s", clock)

The ranks find each other through the store (`virtual.worlds`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from weakref import WeakValueDictionary

from transports.clock import PICO, SYSTEM, Clock, picoseconds
from transports.contract import (
    MAX_HEADER,
    Begun,
    Buffer,
    Inbox,
    Sink,
    Store,
    flat,
    is_unwritten,
    length_only,
)
from transports.errors import CLOSED, ConnectError, PeerLost, TransportClosed
from transports.joinable import JoinableTransport
from transports.virtual import worlds
from transports.virtual.clock import VirtualClock
from transports.virtual.fault_injector import FaultInjector
from transports.virtual.inboxes import Claims, Explains, HearsLate, Waiting
from transports.virtual.late import Late
from transports.virtual.medium import SimMessage, medium_of
from transports.virtual.rendezvous import Offers, Pairs, RendezvousSend
from transports.virtual.sim_thread import SimThread
from transports.virtual.worlds import ConnectedEnds

_ends: WeakValueDictionary[str, SimTransport] = WeakValueDictionary()  # of growing worlds


class SimTransport(JoinableTransport):
    """One rank's end. The rank is the simulated thread that connects with its helpers; when it is over without
    having closed, it is dead."""

    scheme = "sim"
    ranks_are = "threads"
    needs_virtual_time = has_own_faults = True
    last_sent: tuple[int, bytes] | None = None

    def __init__(
        self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM
    ) -> None:
        super().__init__(rank, world_size, address, clock)
        if not isinstance(clock, VirtualClock):
            raise ValueError(
                "sim:// needs virtual time: give all its ranks one VirtualClock, or start them with "
                f"transports.simulation.run; this is a {type(clock).__name__}"
            )
        self.virtual, self.medium = clock, medium_of(clock, self.address)
        self._inbox: Inbox | None = None
        self._world: ConnectedEnds[SimTransport] | None = None
        self._working: ConnectedEnds[SimTransport] | None = (
            None  # the same, while it is connected and not closed
        )
        self._lost: dict[int, PeerLost] = {}
        self._told = 0  # of the world's departures, how many our inbox knows
        self._waiters: list[tuple[SimThread, Callable[[], bool] | None]] = []
        self._offers: list[SimMessage] = []  # messages that wait until we wait
        self._meeting: SimMessage | None = None  # the one of them that is on its way
        self.strict: Offers | None = None  # messages that wait for their own receives
        self._outgoing = self._outgoing_bytes = self._sends_waiting = 0
        self._farewell = ""  # why we are gone, once all we sent has landed
        self._latest: SimMessage | None = None  # what was sent last, until it has landed
        self._deliveries = self._reported = 0
        self.nth: int | None = (
            None  # of the message that lands, if its place does not tell (`fault_injector`)
        )
        self._is_connected = self._is_closed = self._has_left = self._is_gone = False

    # -------------------------------------------------------------------------------- connecting

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        self._inbox = inbox
        limit = self.medium.network.rendezvous
        if limit is not None and isinstance(inbox, Claims):
            if self.virtual.pairs is None:
                self.virtual.pairs = Pairs(self.virtual)
            self.strict = Offers(self.rank, inbox, limit, self.virtual.pairs, self.wake_waiting)
        world = self._world = worlds.find(self, store)
        if self.rank in world.ends:
            raise ConnectError(
                f"rank {self.rank} is taken: somebody else connected to this store as rank "
                f"{self.rank} over sim. Each rank may come once; for a second world give the store "
                "another prefix"
            )
        world.ends[self.rank] = self
        self.medium.ends[self.rank].append(self)
        self.virtual.when_over(self._abandon)
        world.gather(self, self.virtual, timeout)
        self._is_connected = True
        self._working = None if self._is_closed else world

    def open(self, store: Store, inbox: Inbox) -> str:
        self._inbox = inbox
        world = self._world = worlds.find(self, store, may_be_over=True)
        before = world.ends.get(self.rank)
        if before is None or before._is_closed:  # else we shall be refused by those above
            if before is not None and not before._is_gone:
                before._farewell = before._farewell or "another one has taken its place"
                before._go()
            world.ends[self.rank] = self
            self.medium.ends[self.rank].append(self)
        self._told = len(world.departed)  # a rank that left before we came was never here for us
        self.virtual.when_over(self._abandon)
        self._is_connected = True
        self._working = world
        card = worlds.card()
        _ends[card] = self
        return card

    def is_there(self, card: str) -> bool:
        end = _ends.get(card)
        return end is not None and not end._is_closed

    def reach(self, peer: int, card: str, timeout: float | None = None) -> None:
        end, world = _ends.get(card), self._demand_open()
        if end is None or end._is_closed or end._world is not world:
            raise ConnectError(f"rank {peer} has left before rank {self.rank} reached it")
        end._hear(world)
        end._lost.pop(self.rank, None)

    # ----------------------------------------------------------------------------------- sending

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
        copy: Buffer
        if is_unwritten(payload):
            assert isinstance(payload, memoryview)
            copy = length_only(payload)
        else:
            copy = bytes(payload)  # of bytes it is none
        message = SimMessage(medium, self, peer, header, copy)
        network, meets = medium.network, medium.meets
        if medium.witness is not None:
            medium.witness("send", self.rank, dst, message.nbytes, header, copy)
        if peer.strict is not None and peer.strict.concerns(message, self):
            peer.strict.add(message, self)
            if not peer.strict.returns_at_once(message):
                self._until_landed(message, None)
            return None
        if (network.eager is not None and message.nbytes > network.eager) or (
            meets is not None and meets(message)
        ):
            self._meet(peer, message)
            return None
        if network.window is not None and not self._has_room(message.nbytes, network.window):
            what = f"room to send {message.nbytes} bytes to rank {dst}"
            room = partial(self._has_room, message.nbytes, network.window)
            self._stand_by(room, dst, Waiting((), what))
        self._depart(message)

    @property
    def has_begin(self) -> bool:  # type: ignore[override]
        medium = self.medium
        return medium.reads_late or medium.meets is not None or self.strict is not None

    def begin(self, dst: int, header: bytes, payload: Buffer) -> Begun:
        world = self._demand_open()
        self._hear(world)
        if dst in self._lost:
            raise PeerLost(dst, self._lost[dst].why)
        peer, medium, view = world.ends.get(dst), self.medium, flat(header, payload)
        if peer is None:
            raise self._nobody(dst)
        message = (
            Late(medium, self, peer, header, view) if medium.reads_late
            else SimMessage(medium, self, peer, header, bytes(view))
        )  # fmt: skip
        if dst == self.rank:
            self._deliver(self.rank, header, message.payload)
            message.has_landed = True
            return RendezvousSend(message, self._until_landed)
        if medium.witness is not None:
            medium.witness("send", self.rank, dst, message.nbytes, header, bytes(view))
        if peer.strict is not None and peer.strict.concerns(message, self):
            peer.strict.add(message, self)
        elif medium.meets is not None and medium.meets(message):
            self._offer(peer, message)
        else:
            self._depart(message)
        return RendezvousSend(message, self._until_landed)

    @property
    def is_over(self) -> bool:
        """Whether it was killed."""
        return self._is_closed and not self._has_left

    def set_out(self, message: SimMessage) -> None:
        """Let the transfer of a message begin that was kept waiting."""
        self._depart(message)

    @property
    def under_way(self) -> tuple[int, bytes] | None:  # type: ignore[override]
        """To whom the last message went, and its header, if it has not landed yet."""
        latest = self._latest
        return None if latest is None else (latest.dst.rank, latest.header)

    @property
    def is_unreliable(self) -> bool:  # type: ignore[override]
        """Whether what comes here may be a copy, and what was sent may be lost."""
        injector = self.medium.injector
        return isinstance(injector, FaultInjector) and not injector.plan.reliable

    def _nobody(self, dst: int) -> Exception:
        if 0 <= dst < self.world_size:
            return PeerLost(dst, "it has not come yet")
        return ValueError(f"there is no rank {dst} in a world of {self.world_size}")

    def _depart(self, message: SimMessage) -> None:
        self._latest, self.last_sent = message, (message.dst.rank, message.header)
        self._outgoing += 1
        self._outgoing_bytes += message.nbytes
        medium = self.medium
        if medium.injector is None:
            medium.transmit(message)
        else:
            medium.injector.depart(message)

    def _has_room(self, nbytes: int, window: int) -> bool:
        return not self._outgoing_bytes or self._outgoing_bytes + nbytes <= window

    def _meet(self, peer: SimTransport, message: SimMessage) -> None:
        """Offer a message to its receiver, and wait until it has landed there."""
        self._offer(peer, message)
        self._until_landed(message, None)

    def _offer(self, peer: SimTransport, message: SimMessage) -> None:
        """It comes when its receiver waits, or polls; within a bound, where there is one."""
        peer._offers.append(message)
        peer._accept()
        within = self.medium.meets_within
        if within is not None and message in peer._offers:
            self.virtual.at(self.virtual.now() + within, partial(peer._must_come, message))

    def _must_come(self, message: SimMessage) -> None:
        if message in self._offers:
            self._offers.remove(message)
            assert isinstance(message.src, SimTransport)
            message.src._depart(message)

    def _until_landed(self, message: SimMessage, timeout: float | None) -> None:
        """Wait until what we sent is there; after `timeout` go on."""
        peer = message.dst
        assert isinstance(peer, SimTransport)
        is_strict = peer.strict is not None
        what = f"send of {message.nbytes} bytes ({'its receive is not posted' if is_strict else 'rendezvous'})"
        why = Waiting((peer.rank,), what, is_strict)
        try:
            self._stand_by(lambda: message.has_landed, peer.rank, why, timeout)
        except BaseException:
            message.is_void = True
            if message in peer._offers:
                peer._offers.remove(message)
            if peer.strict is not None:
                peer.strict.remove(message)
            raise

    def _accept(self, polls: bool = False) -> None:
        """One offer at a time begins to come, while somebody here waits, or `polls`."""
        while self._offers and self._meeting is None and not self._is_closed:
            if not (polls or self._waiters):
                return
            message = self._meeting = self._offers.pop(0)
            assert isinstance(message.src, SimTransport)
            message.src._depart(message)

    def _stand_by(
        self, done: Callable[[], bool], dst: int, why: Waiting, timeout: float | None = None
    ) -> None:
        """Wait within a send, delivering what arrives meanwhile."""
        deadline = self.clock.deadline(self.patience if timeout is None else timeout)
        while not done():
            world = self._demand_open()
            self._hear(world)
            if not deadline.is_over() and dst not in self._lost:
                self._sends_waiting += 1
                try:
                    self._wait(
                        lambda: done() or dst in self._lost or self._is_closed,
                        deadline.left(),
                        lambda: why,
                    )
                finally:
                    self._sends_waiting -= 1
            elif not done():
                if timeout is not None and dst not in self._lost:
                    return
                self.lose(dst, f"it took nothing for {self.patience} s of virtual time")
                raise PeerLost(dst, self._lost[dst].why)

    # --------------------------------------------------------------------------------- receiving

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
                self._wait(done, timeout, partial(self._explain, done))
                if self._working is None:
                    self._demand_open()
        found, self._reported = self._deliveries > self._reported, self._deliveries
        return found

    def _wait(
        self, ready: Callable[[], bool] | None, timeout: float | None, why: Callable[[], Waiting]
    ) -> None:
        """Wait until something is delivered and, if it is given, `ready` says yes."""
        me = self.virtual.me()
        entry = me, ready
        self._waiters.append(entry)
        world = self._world
        assert world is not None
        world.waiting[self] = None
        if self._offers:
            self._accept()
        try:
            self.virtual.park(None if timeout is None else picoseconds(timeout), why, me)
        finally:
            if entry in self._waiters:  # else `_rouse` has taken us out
                self._waiters.remove(entry)
                if not self._waiters:
                    world.waiting.pop(self, None)

    def rouse(self) -> None:
        """Something was delivered by others than the network."""
        self._deliveries += 1
        self._rouse()

    def _rouse(self) -> None:
        """Wake those who have what they wait for."""
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

    def wake_waiting(self) -> None:
        """Wake the threads that wait here: their condition may hold, without any message."""
        self._rouse()

    def take(self, message: SimMessage) -> None:
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
        if self._meeting is message:
            self._meeting = None
            self._accept()

    def _deliver(self, src: int, header: bytes, payload: Buffer, sink: Sink | None = None) -> None:
        """To its `sink`, if it has been paired with a receive."""
        assert self._inbox is not None, "a rank that can be sent to has connected"
        if sink is None:
            sink = self._inbox.sink(src, header, len(payload))
        if payload:
            sink.write(memoryview(payload))
        self._deliveries += 1
        if self._waiters:
            self._rouse()

    def landed(self, message: SimMessage) -> None:
        if message is self._latest:
            self._latest = None
        self._outgoing -= 1
        self._outgoing_bytes -= message.nbytes
        if self._sends_waiting and self._waiters and not self._is_closed:
            self._rouse()
        if not self._outgoing and self._farewell:
            self._go()

    def _explain(self, done: Callable[[], bool] | None) -> Waiting:
        said = self._inbox.explain(done) if isinstance(self._inbox, Explains) else None
        return said or Waiting((), "a message")

    # ----------------------------------------------------------------------------------- leaving

    def close(self) -> None:
        if self._is_closed:
            return
        self._shut()
        self._has_left = True
        self._rouse()
        if self.has_begin and self._world is not None:
            self._flush(self._world)
        self._leave(CLOSED)

    def _flush(self, world: ConnectedEnds[SimTransport]) -> None:
        """Finish the messages that we have begun to send, and those that wait for their receiver, before we
        are gone.
        """
        for peer in world.ends.values():
            if peer.strict is not None:
                peer.strict.flush(self)
            for message in [message for message in peer._offers if message.src is self]:
                peer._must_come(message)

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
        world, why, self._farewell, self._is_gone = self._world, self._farewell, "", True
        if world is not None and world.ends.get(self.rank) is self:
            world.departed.append((self.rank, why))
            for end in list(world.waiting):
                if end._waiters and not end._is_closed:
                    end._hear(world)

    def _hear(self, world: ConnectedEnds[SimTransport]) -> None:
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
            self._rouse()

    def _demand_open(self) -> ConnectedEnds[SimTransport]:
        if self._is_closed:
            raise TransportClosed(f"rank {self.rank} has closed its {self.scheme} transport")
        if not self._is_connected or self._world is None:
            raise TransportClosed(f"rank {self.rank} has not connected its {self.scheme} transport")
        return self._world

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "open" if self._is_connected else "not connected"
        lost = f", lost {sorted(self._lost)}" if self._lost else ""
        return (
            f"<SimTransport rank {self.rank} of {self.world_size}, {state}, "
            f"{self._deliveries} deliveries at {self.virtual.now() / PICO:.9g} s{lost}>"
        )
