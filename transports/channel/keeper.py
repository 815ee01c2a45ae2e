"""The side of an MQTT store that keeps the values: answers who asks, and wakes who waits.

    mtd/<name>/s/ask              everybody asks here
    mtd/<name>/s/answer/<mark>    each asker's answers
    mtd/<name>/s/owner            the keeper's presence: retained, and its last will

Frames may get lost or come twice, so askers number what they ask and ask again until they are
answered, and the keeper answers each number once: what it has answered it says again, what waits
goes on waiting. A command is thus carried out exactly once, whatever the broker does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import inf
from typing import TypeAlias

from transports import frames as streams
from transports.channel import frames
from transports.channel.address import Address
from transports.channel.connection import Connection, Post, refusal
from transports.channel.frames import Frame, Refused
from transports.channel.peers import SILENCE
from transports.clock import PICO, Clock, Deadline
from transports.errors import DistNetworkError, DistStoreError, NotLetIn, StoreTimeout
from transports.stores import protocol
from transports.stores.protocol import Request
from transports.stores.shelf import READS, NotYet, Shelf
from transports.stores.store import ADVICE

CLAIM = 2.0  # seconds for one who keeps a store of our name to show that it lives
MAX_ASKERS = 1 << 16
MAX_BODY = 8 << 20  # bytes of one command or answer: brokers take no packets of any size


class Topics:
    """Where a store of this name speaks, and the key of its seals."""

    def __init__(self, name: str) -> None:
        base = f"mtd/{name}/s"
        self.ask, self.owner, self._answer = f"{base}/ask", f"{base}/owner", f"{base}/answer"
        self.key = frames.run_key(base)

    def answer(self, mark: int) -> str:
        return f"{self._answer}/{mark:016x}"


class Asker:
    """What the keeper knows of one who asks."""

    def __init__(self) -> None:
        self.settled = 0  # it has the answers to all numbers below
        self.answers: dict[int, bytes] = {}
        self.waiting: dict[int, tuple[Request, Deadline]] = {}
        self.heard = 0.0  # who waits asks again each second, so silence means that it is gone

    def settle(self, number: int) -> None:
        """All below this number is of no interest to it any more."""
        if number > self.settled:
            self.settled = number
            self.answers = {n: answer for n, answer in self.answers.items() if n >= number}
            self.waiting = {n: asked for n, asked in self.waiting.items() if n >= number}


Guard: TypeAlias = Callable[[int, Request, Shelf], str]
"""Why this asker may not have that carried out; empty if it may. Called in the keeper's thread, which holds the shelf."""


class Keeper:
    """Keeps a shelf, for the threads of this process and for askers anywhere."""

    def __init__(
        self, address: Address, name: str, mark: int, clock: Clock, guard: Guard | None = None
    ) -> None:
        self.guard = guard
        self.address, self.name, self.mark, self._clock = address, name, mark, clock
        self.changed = clock.condition()
        self.shelf = Shelf()
        self.dropped: Counter[str] = Counter()
        self.users = 1
        self._spoken = 0
        self._topics = Topics(name)
        self._askers: dict[int, Asker] = {}
        self._is_alone = self._is_closed = False
        self._rival: float | None = None  # since when we know that another was, or is, here
        self._problem = ""
        self._is_refused = False
        filters = [(self._topics.owner, 1), (self._topics.ask, 0)]
        will = Post(self._topics.owner, self._frame(frames.DEAD), 1, True)
        self._connection = Connection(address, f"mtd{mark:016x}", filters, will, self, clock)

    def _now(self) -> float:
        return self._clock.now() / PICO

    def start(self, deadline: Deadline) -> None:
        """Return once the broker has us as the only keeper of this name."""
        self._connection.start()
        with self.changed:
            while not self._is_alone and not self._problem:
                if deadline.is_over():
                    self._problem = (
                        f"waited {deadline.elapsed():.1f} s for the broker at {self.address.shown}: "
                        f"{self._why_down}. Does a broker listen there?"
                    )
                    break
                self.changed.wait(deadline.left())
        if self._problem:
            self._connection.close()
            raise (NotLetIn if self._is_refused else DistNetworkError)(self._problem)

    # -- commands ---------------------------------------------------------------------------

    def command(
        self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float
    ) -> list[bytes]:
        """For the threads of this process."""
        deadline = self._clock.deadline(None if timeout == inf else timeout)
        with self.changed:
            while True:
                if self._is_closed:
                    raise DistStoreError(f"{self!r} was closed")
                try:
                    answer = self.shelf.do(operation, keys, values)
                except NotYet as need:
                    if deadline.is_over():
                        raise _late(timeout, keys, need) from None
                    self.changed.wait(deadline.left())
                else:
                    if operation not in READS:
                        self._wake()
                    return answer

    def _wake(self) -> None:
        """Something has changed: ask again for all who wait."""
        self.changed.notify_all()
        is_news = True
        while is_news:
            is_news = False
            for mark, asker in self._askers.items():
                for number, (request, deadline) in list(asker.waiting.items()):
                    if self._try(mark, asker, number, request, deadline):
                        is_news |= request.operation not in READS

    def _try(
        self, mark: int, asker: Asker, number: int, request: Request, deadline: Deadline
    ) -> bool:
        """Answer if it can be answered now; whether something was carried out."""
        answer: list[bytes] | Exception
        why = self.guard(mark, request, self.shelf) if self.guard is not None else ""
        try:
            if why:
                raise DistStoreError(f"{request.operation} of {request.keys[:1]}: {why}")
            answer = self.shelf.do(request.operation, request.keys, request.values)
        except NotYet as need:
            if not deadline.is_over():
                asker.waiting[number] = request, deadline
                return False
            answer = _late(request.seconds, request.keys, need)
        except DistStoreError as error:
            answer = error
        asker.waiting.pop(number, None)
        asker.answers[number] = _packed(answer)
        self._say(mark, frames.ANSWER, number, asker.answers[number])
        return not isinstance(answer, Exception)

    # -- the listener: called by the connection's thread ------------------------------------

    def heard(self, topic: str, payload: bytes) -> None:
        try:
            frame = frames.unseal(self._topics.key, payload)
            with self.changed:
                if topic == self._topics.owner:
                    self._look_at(frame)
                else:
                    self._attend(frame)
        except Refused as why:
            self.dropped[f"{why}"] += 1
        except streams.FrameError:
            self.dropped["request"] += 1

    def _look_at(self, frame: Frame) -> None:
        """What is said about who keeps this store.

        We greet before we claim it. What was retained comes before the echo of our greeting, and
        may be of one who is long gone; one who lives claims its place again when it hears us.
        """
        is_ours = frame.mark == self.mark
        if frame.kind == frames.HELLO and is_ours and self._rival is None:
            self._claim()
        elif frame.kind == frames.HELLO and not is_ours and self._is_alone:
            self._post_life(frames.PRESENT)
        elif frame.kind == frames.PRESENT and not is_ours and not self._is_alone:
            if self._rival is not None:
                self._problem = (
                    f"somebody else keeps a store named {self.name!r} at {self.address.shown}: "
                    "another job, or another rank 0 of this one. Name yours: "
                    f"{self.address.shown}/NAME"
                )
            self._rival = self._now()
            self._post_life(frames.HELLO)
        self.changed.notify_all()

    def _claim(self) -> None:
        self._is_alone = True
        self._post_life(frames.PRESENT)
        self.changed.notify_all()

    def _attend(self, frame: Frame) -> None:
        if frame.kind == frames.HELLO or (
            frame.kind == frames.ASK and frame.peer_mark != self.mark
        ):
            self._say(frame.mark, frames.WELCOME)  # also to who takes us for our predecessor
        elif frame.kind == frames.ASK:
            self._hear_out(frame)
        else:
            raise Refused("kind")

    def _hear_out(self, frame: Frame) -> None:
        if frame.mark not in self._askers and len(self._askers) >= MAX_ASKERS:
            raise Refused("askers")
        asker = self._askers.setdefault(frame.mark, Asker())
        number = frame.seq
        asker.settle(frame.acked)
        asker.heard = self._now()
        if number in asker.answers:
            self._say(frame.mark, frames.ANSWER, number, asker.answers[number])
        elif number in asker.waiting:
            self._say(frame.mark, frames.ACK, number)
        elif number >= asker.settled:
            request = protocol.unpack_request(frame.body)
            deadline = self._clock.deadline(None if request.seconds == inf else request.seconds)
            done = self._try(frame.mark, asker, number, request, deadline)
            if done and request.operation not in READS:
                self._wake()

    def up(self) -> None:
        with self.changed:
            self._post_life(frames.PRESENT if self._is_alone else frames.HELLO)

    def tick(self) -> None:
        with self.changed:
            now = self._now()
            if self._rival is not None and not self._is_alone and now - self._rival > CLAIM:
                self._claim()
            for mark, asker in self._askers.items():
                if now - asker.heard > SILENCE:
                    asker.waiting.clear()  # nothing may be popped for somebody who is gone
                for number, (request, deadline) in list(asker.waiting.items()):
                    if deadline.is_over():
                        self._try(mark, asker, number, request, deadline)

    def down(self, reason: str) -> None:
        with self.changed:
            self._why_down = reason

    def refused(self, reason: str) -> None:
        with self.changed:
            self._problem, self._is_refused = refusal(self.address, reason), True
            self.changed.notify_all()

    def written(self, tag: object) -> None: ...

    # -- speaking ---------------------------------------------------------------------------

    def _frame(self, kind: int, mark: int = 0, number: int = 0, body: bytes = b"") -> bytearray:
        self._spoken += 1  # so that a frame which is repeated by others is no sign of life
        frame = Frame(kind, 0, 0, self.mark, mark, seq=number, acked=self._spoken)
        return frames.seal(self._topics.key, frame, body)

    def _post_life(self, kind: int) -> None:
        is_lasting = kind == frames.PRESENT
        self._connection.post(Post(self._topics.owner, self._frame(kind), 1, is_lasting))

    def _say(self, mark: int, kind: int, number: int = 0, body: bytes = b"") -> None:
        post = Post(self._topics.answer(mark), self._frame(kind, mark, number, body))
        self._connection.post(post)

    def close(self) -> None:
        """Tell the askers that there is nothing more to ask."""
        with self.changed:
            self._is_closed = True
            self.changed.notify_all()
            self._post_life(frames.BYE)
            self._connection.post(Post(self._topics.owner, b"", 1, True))
        self._connection.close()

    def __repr__(self) -> str:
        return f"<Keeper of {len(self.shelf.values)} keys for {len(self._askers)} askers>"


def _late(seconds: float, keys: Sequence[str], need: NotYet) -> StoreTimeout:
    present = [key for key in keys if key not in need.missing]
    return StoreTimeout(seconds, need.missing, present, ADVICE)


def _packed(answer: list[bytes] | Exception) -> bytes:
    data = protocol.pack_answer(answer)[streams.LENGTH :]
    if len(data) > MAX_BODY:
        too_long = DistStoreError(f"an answer of {len(data)} bytes; a broker takes {MAX_BODY}")
        return protocol.pack_answer(too_long)[streams.LENGTH :]
    return data
