"""Which message belongs to which receive. Written once, for every transport.

    executor / recv                      mailbox                              transport
    post(receive) ───────► waiting receives  ◄── sink(src, header, n) ◄────── a message begins
                               │    match: (source, group, sequence, step)
                               ▼
                     the receive itself (copy or add on arrival), or
                     an Arrival: nobody has asked yet, keep it
    wait(receive) ───────► progress(…) until it is done: the waiting thread drives

A message carries its sender's fingerprint (see `wire`). It is compared with that of the receive it
matches, or with that of the group's operation of the same number. So a mismatch is found at once, even
if this rank waits for nobody, or has finished the operation. An error is kept in the receive or the
operation; the thread that waits for it raises. The transport calls `sink` and `lost` from any thread.
Neither of them raises or waits.

How an executor uses it, with the operations of `operations` (group ranks, parts of arrays):

    with channel.begin(Fingerprint("all_reduce", dtype, shape, "sum"), site) as operation:
        receive = operation.receive(left, into=chunk, step=k, combine=numpy.add)   # posts at once
        operation.send(right, other_chunk, step=k)
        operation.wait(receive)

Post before you send: a message that finds its receive waiting is never copied twice.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from threading import get_ident  # noqa: TID251 - tells threads apart; nothing waits
from typing import Final

from minitorch_dist.distributed.exceptions import DistTimeout, PeerLost
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.above import Channel, WatchingOwner
from minitorch_dist.distributed.mail.pairing import Pairing
from minitorch_dist.distributed.mail.receives import DISCARD, Arrival, PostedReceive, WholeSink
from minitorch_dist.distributed.mail.recorder import Recorder
from minitorch_dist.distributed.mail.texts import POINT_TO_POINT, MailboxTexts
from minitorch_dist.distributed.mail.traffic import NOBODYS, MessageCounts
from transports.clock import Deadline, picoseconds
from transports.contract import Sink, Transport
from transports.errors import CLOSED, Lost

AT: Final = wire.MATCH.size
MAX_NOTICE: Final = {wire.NOTICE: 8192, wire.FAREWELL: wire.MAX_FAREWELL}  # bytes
SLOW: Final = 10.0  # seconds of waiting, after which the log says for which rank; 0 is never
SLOW_VARIABLE: Final = "MINITORCH_DIST_SLOW"
LOOK: Final = 1.0  # seconds between two looks at what the others wait for
PATIENT: Final = 30.0  # seconds: a program that sets a shorter timeout may mean it, and go on after it
_log = logging.getLogger("minitorch_dist.distributed")


class Mailbox(MailboxTexts):
    """The inbox of one rank."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.transport, self.world_size = transport, transport.world_size
        self._notices: dict[int, list[tuple[int, bytes]]] = {}  # by sender, for groups that are not made here yet
        self.farewells: dict[int, bytes] = {}  # the last operation of a rank that has left (see `exit_check`)
        self.on_missed: Callable[[int, bytes], None] | None = None
        self._closed: dict[int, None] = {}  # groups that are no more: an empty set takes more room
        self.recorder: Recorder | None = None
        is_virtual = self.clock.is_virtual
        self.traffic = NOBODYS if is_virtual else MessageCounts()
        self.slow = 0.0 if is_virtual else float(os.environ.get(SLOW_VARIABLE) or SLOW)

    # --------------------------------------------------------------------------- for those above

    def post(self, receive: PostedReceive) -> None:
        """Let the next message that matches go into `receive`, in the order of posting."""
        with self.lock:
            is_late = self._gone or receive.match in self.unclaimed
            if not is_late:
                self.pairing.post(receive)
        if is_late:
            self._post_late(receive)

    def _post_late(self, receive: PostedReceive) -> None:
        """Post a receive when such a message is here already, or when a rank is lost."""
        with self.lock:
            arrival = self.pairing.take_arrival(receive.source, receive.match)
            error: Exception | None
            if arrival is None:
                error = self._unreachable(receive)
                if error is None:
                    return self.pairing.post(receive)
            else:
                sender = arrival.sender
                error = self._misfit(receive, sender, arrival.header, arrival.nbytes)
                if error is None and not arrival.is_whole:
                    if sender not in self._gone:
                        arrival.claimed = receive
                        return
                    error = self._loss(receive, sender, self._gone[sender].more(", in the middle of a message"))
        if error is not None:
            self._refuse(receive, error)
        elif arrival is not None:
            arrival.hand_over(receive)

    def is_free(self, source: int | None, match: bytes) -> bool:
        """Whether the next message of `source` with this match is nobody's yet, and none came before
        it. Asked while nothing is delivered."""
        return self.pairing.is_free(source, match)

    def fetch(self, src: int, front: bytes, into: memoryview, is_next: Callable[[], bool]) -> bool:
        """Receive the next message of `src` without a receive, if the transport can do so at once
        (see `Transport.fetch`); `is_next` asks `is_free`."""
        header = self.transport.fetch(src, front, into, is_next)
        if header is None:
            return False
        self._last[src] = header, None
        self.traffic.came[src] += 1
        return True

    def withdraw(self, receive: PostedReceive) -> bool:
        """Take a receive back; False if its message has begun to arrive."""
        with self.lock:
            return self.pairing.withdraw(receive)

    def is_there(self, receive: PostedReceive) -> bool:
        """Look once whether it is done. In real time it often is, and no clock needs to be asked."""
        if self.slow and self.recorder is None:
            self.transport.progress(0, receive)
        return receive.done

    def wait(self, receive: PostedReceive, deadline: Deadline) -> None:
        """Drive the transport until `receive` is done, for better or worse. After `deadline` it is
        over: DistTimeout. A long wait is noted in the log, and again after twice that time."""
        if self.recorder is not None:
            with self.recorder.waiting(receive.owner, receive.source):
                return self._wait(receive, deadline)
        return self._wait(receive, deadline)

    def _wait(self, receive: PostedReceive, deadline: Deadline) -> None:
        for left in self._looks(receive, deadline, receive):
            self.transport.progress(left, receive)
            if receive.done:
                break
            if deadline.is_over():
                self.withdraw(receive)
                receive.fail(DistTimeout(self.timed_out(receive, deadline.elapsed())))
                break

    def _looks(self, receive: PostedReceive, deadline: Deadline, is_over: Callable[[], bool]) -> Iterator[float | None]:
        """For how long to wait, again and again: until the deadline, or the next look at what the others wait for."""
        start, turns = 0, 0
        if self.slow:
            self.traffic.callers.add(get_ident())
            start = self.clock.now()
        look = min(LOOK, self.slow, self.slow if deadline.seconds is None else deadline.seconds / 2)
        try:
            while True:
                left = deadline.left()
                yield look if start and (left is None or left > look) else left
                if start and self.clock.now() - start >= picoseconds(look) and not is_over():
                    start, turns = self.clock.now(), turns + 1
                    self._tell_of_waiting(receive, look, turns, deadline)
        finally:
            if turns and self.flight is not None:
                self.flight.unpin()

    def _tell_of_waiting(self, receive: PostedReceive, look: float, turns: int, deadline: Deadline) -> None:
        """Called each `look` seconds of a wait. Pin a note; look at the notes of those we wait for, which may come
        later than ours; and log it after `slow` seconds, and after 2, 4, 8 … times that."""
        waited = look * turns
        if self.flight is not None:
            self.flight.pin(receive, waited)
            error = self.flight.contradiction(receive)
            if error is None and (deadline.seconds is None or deadline.seconds >= PATIENT):
                error = self.flight.circle(turns)
            if error is not None:
                return receive.owner.fail(error)
        told = waited / self.slow
        if told.is_integer() and int(told).bit_count() == 1 and not receive.done:
            _log.warning("still waiting: %s", self.late(receive, waited))

    def watch(self, source: int, owner: WatchingOwner, is_there: Callable[[], bool], deadline: Deadline) -> None:
        """Wait for something that `source` will write where `is_there` sees it (see `boards`)."""
        wanted = PostedReceive(source, owner.prefix, owner, None)  # for the texts

        def is_over() -> bool:
            return is_there() or owner.error is not None or source in self._gone

        for left in self._looks(wanted, deadline, is_over):
            if is_there():
                return
            if owner.error is not None:
                raise owner.error
            if source in self._gone:
                if is_there():  # it was written before the source left
                    return
                raise owner.error or self._loss(wanted, source, self._gone[source])
            if deadline.is_over():
                raise DistTimeout(self.timed_out(wanted, deadline.elapsed()))
            self.transport.watch(left, is_over)

    @property
    def gone(self) -> Mapping[int, Lost]:
        """The ranks that were lost, and why."""
        return self._gone

    def poll(self) -> bool:
        """Deliver what has arrived, without waiting; whether that may be something. (Without a question
        of its own, `progress` would be content with what it delivered since somebody last asked.)"""
        return self.transport.progress(0, lambda: False)

    def open(self, channel: Channel) -> None:
        """From now on this group's messages are compared with what it does."""
        with self.lock:
            self.channels[channel.number] = channel
            notices = self._notices.pop(channel.number, ())
        for sender, said in notices:
            channel.noticed(sender, said)

    def shut(self, channel: Channel) -> None:
        """Forget a group, and what came for it."""
        with self.lock:
            self.channels.pop(channel.number, None)
            self._closed[channel.number] = None
            self.pairing.forget(channel.number.to_bytes(8, "little"))

    def missed(self, src: int, header: bytes) -> None:
        """A message came when this rank had left."""
        if self.on_missed is not None:
            self.on_missed(src, header)

    def strangers(self, prefix: bytes) -> list[Arrival]:
        """The messages for operations that have not begun here. The lock is held."""
        return list(self.pairing.early(prefix))

    # ------------------------------------------------------------------------- for the transport

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        with self.lock:
            receive = self.pairing.take_receive(src, header[:AT])
            if receive is None:
                return self._unexpected(src, header, nbytes)
            sink = self._into(receive, src, header, nbytes)
        receive.begin(src, header, nbytes)
        return sink

    def _into(self, receive: PostedReceive, src: int, header: bytes, nbytes: int) -> Sink:
        """The sink of a message that goes into this receive. The lock is held."""
        if nbytes != receive.nbytes or not header.startswith(receive.owner.expects, AT):
            error = self._misfit(receive, src, header, nbytes)
            if error is not None:
                return self._refuse(receive, error)
        self._last[src] = header, receive
        if self.recorder is not None:
            return self.recorder.arriving(receive, receive, src, header, nbytes)
        return receive

    def _refuse(self, receive: PostedReceive, error: Exception) -> Sink:
        receive.fail(error)
        receive.owner.fail(error)
        return DISCARD

    def lost(self, src: int, reason: Exception) -> None:
        with self.lock:
            self._lose(src, Lost.of(reason))

    def _lose(self, src: int, why: Lost) -> None:
        """Fail what waits for `src`, and what will. The lock is held."""
        if src in self.last_words:
            why = why.more(f", after it had raised {self.last_words[src]}")
        self._gone.setdefault(src, why)
        half = self._last.get(src, (b"", None))[1]
        if isinstance(half, Arrival):
            half = half.claimed
        if half is None or half.done:
            return self._fail_unreachable()
        half.fail(self._loss(half, src, why.more(", in the middle of a message")))
        self._fail_unreachable(half)

    def _fail_unreachable(self, *failed: PostedReceive) -> None:
        """Fail the receives that can wait for ever, and who posted them or those that have `failed`. The lock is held."""
        for receive in (*self.pairing.waiting(), *failed):
            error = None if receive.done else self._unreachable(receive)
            if error is not None:
                self.pairing.withdraw(receive)
                receive.fail(error)
            if receive.error is not None:
                receive.owner.fail(receive.error)

    # ------------------------------------------- for simulations that choose which message goes where

    def assign(self, receive: PostedReceive, source: int) -> None:
        """Let a posted receive from anybody take what comes from `source`."""
        if self.withdraw(receive):
            receive.source = source
            self.post(receive)
        with self.lock:
            self._fail_unreachable()

    def pair_by(self, pairing: Pairing) -> None:
        """Another way to pair; it takes over what waits."""
        pairing.take_over(self.pairing)
        self.pairing = pairing

    def into(self, receive: PostedReceive, src: int, header: bytes, nbytes: int) -> Sink:
        """As `sink`, for a message that this receive was claimed for."""
        with self.lock:
            sink = self._into(receive, src, header, nbytes)
        receive.begin(src, header, nbytes)
        return sink

    def is_awaited(self, header: bytes) -> bool:
        """Whether such a message is taken by a receive that somebody has to post."""
        group, sequence, step = wire.MATCH.unpack_from(header)
        is_told = sequence in (wire.NOTICE, wire.FAREWELL) or group in self._closed
        return not (is_told or (sequence != wire.POINT_TO_POINT and step & wire.GATE))

    def match(self, header: bytes) -> bytes:
        """Equal for messages that are taken by the same receives."""
        return header[:AT]

    def claim(self, src: int, header: bytes) -> PostedReceive | None:
        """The receive that waits for this message, if there is one: no other message will get it."""
        with self.lock:
            receive = self.pairing.take_receive(src, header[:AT])
            if receive is None and not header.startswith(POINT_TO_POINT, 8):
                channel = self.channels.get(int.from_bytes(header[:8], "little"))
                if channel is not None:
                    channel.strange(header, src)
        return receive

    def tell_of_receives(self, act: Callable[[], None]) -> None:
        """Call `act` whenever a receive was posted. The lock is held."""
        self.pairing.announce = act

    # ---------------------------------------------------------------------------------- matching

    def _unexpected(self, src: int, header: bytes, nbytes: int) -> Sink:
        """A message that no receive waits for. The lock is held."""
        try:
            group, sequence, *_ = wire.decode(header)
        except wire.WireError as error:
            self._lose(src, Lost("lost", f"it speaks another language, and sent {error}"))
            return DISCARD
        if group in self._closed:
            return DISCARD
        if sequence in MAX_NOTICE:
            if nbytes > MAX_NOTICE[sequence]:
                return DISCARD
            said = bytearray(nbytes)
            return WholeSink(memoryview(said), lambda: self._heed(group, sequence, src, bytes(said)))
        arrival = Arrival(self.lock, src, header, nbytes)
        self._last[src] = header, arrival
        channel = self.channels.get(group)
        if channel is not None and sequence != wire.POINT_TO_POINT:
            channel.strange(header, src)
        sink: Sink = arrival
        if self.recorder is not None:
            sink = self.recorder.arriving(arrival, arrival, src, header, nbytes)
        self.pairing.keep(arrival, header[:AT])
        return sink

    def _heed(self, group: int, sequence: int, sender: int, said: bytes) -> None:
        """A notice has arrived whole. No lock is held."""
        with self.lock:
            if sequence == wire.FAREWELL:
                self.farewells[sender] = said
                return self._lose(sender, CLOSED)  # there will be nothing after it
            channel = self.channels.get(group)
            if channel is None:
                kept = self._notices.setdefault(group, [])
                if len(kept) < self.world_size:
                    kept.append((sender, said))
                return
        channel.noticed(sender, said)

    # ------------------------------------------------------------------------------------ errors

    def _misfit(self, receive: PostedReceive, src: int, header: bytes, nbytes: int) -> Exception | None:
        """Why this message may not go into that receive."""
        owner = receive.owner
        if not header.startswith(owner.expects, AT):
            return self.difference(f"is in {owner.describe()}", src, header, owner.expects)
        if nbytes == receive.nbytes or receive.nbytes < 0:
            return None
        return self.other_count(owner.describe(), src, header, nbytes, receive.nbytes, "bytes")

    def _unreachable(self, receive: PostedReceive) -> PeerLost | None:
        """Why this receive can wait for ever."""
        if not self._gone:
            return None
        source = receive.source
        if source is None:
            if len(self._gone) < self.world_size - 1 or self.pairing.holds(receive.match):
                return None
            source = next(iter(self._gone))
        elif source not in self._gone:
            return None
        return self._loss(receive, source, self._gone[source])

    def __repr__(self) -> str:
        with self.lock:
            posted = len(self.pairing.waiting())
            early = len(list(self.pairing.early()))
            lost = f", lost {sorted(self._gone)}" if self._gone else ""
        return f"<Mailbox of rank {self.rank}: {posted} receives wait, {early} early messages{lost}>"
