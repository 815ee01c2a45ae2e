"""The side of an MQTT store that keeps the values: it answers requests, and wakes waiting clients.

    mtd/<name>/s/ask              everybody asks here; mtd/<name>/<job>/s/ask where a launcher has drawn an id
    mtd/<name>/s/answer/<mark>    each asker's answers
    mtd/<name>/s/owner            the store server's presence: retained, and its last will

Frames may get lost or come twice. So askers number their requests, and ask again until they are answered.
The store server carries each number out once. It repeats an answer that it has given, and a request that
waits goes on waiting. So a command is carried out exactly once, in spite of the broker.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from math import inf
from typing import TypeAlias

from transports import frames as streams, job
from transports.clock import PICO, Clock, Deadline
from transports.errors import (
    DistNetworkError,
    DistStoreError,
    NotLetIn,
    OtherJob,
    StoreTimeout,
)
from transports.job import JobCard
from transports.mqtt_protocol import frames
from transports.mqtt_protocol.address import Address
from transports.mqtt_protocol.connection import Connection, Publication, refusal
from transports.mqtt_protocol.frames import Frame, FrameRefused
from transports.mqtt_protocol.peers import SILENCE
from transports.stores import protocol
from transports.stores.key_values import READS, KeyValues, NotYet
from transports.stores.protocol import StoreRequest
from transports.stores.store import ADVICE

_log = logging.getLogger("transports.stores")
# One who keeps a store of our name has to show that it lives: so often we ask, and so many seconds we
# wait after the broker has passed a question on. Seconds in which the broker stands still do not count.
CALLS, HEARING = 4, 0.5
MAX_ASKERS = 1 << 16
MAX_BODY = 8 << 20  # bytes of one command or answer: brokers take no packets of any size


class Topics:
    """Where the store of this name and job speaks, the key of its seals, and how it is told from another job's."""

    def __init__(self, name: str, of: JobCard | None = None) -> None:
        of = job.here() if of is None else of
        self.name, self.job = name, of
        base = f"mtd/{name}/{of.plain_id}/s" if of.id else f"mtd/{name}/s"
        self.ask, self.owner, self._answer = f"{base}/ask", f"{base}/owner", f"{base}/answer"
        self.key = frames.run_key(base)
        self.card = of.marks().packed() + f"{of}".encode()

    def why_apart(self, card: bytes, broker: str) -> str:
        """Why a store with this card is none of ours; empty if it is, or does not say."""
        try:
            marks, text = job.unpacked(card[: job.LENGTH]), card[job.LENGTH :]
        except ValueError:  # of an older version
            return ""
        if not job.are_apart(self.job.marks(), marks):
            return ""
        said = job.clean(text.decode(errors="replace"))
        where, advice = f"the store named {self.name!r} at {broker}", f"Name yours: {broker}/NAME"
        return f"{self.job.refusal(where, said, advice)}"

    def answer(self, mark: int) -> str:
        return f"{self._answer}/{mark:016x}"


class Asker:
    """All that the store server knows of one client."""

    def __init__(self) -> None:
        self.settled = 0  # it has the answers to all numbers below
        self.answers: dict[int, bytes] = {}
        self.waiting: dict[int, tuple[StoreRequest, Deadline]] = {}
        self.heard = 0.0  # a waiting client asks again each second: silence means that it is gone

    def settle(self, number: int) -> None:
        """All below this number is of no interest to it any more."""
        if number > self.settled:
            self.settled = number
            self.answers = {n: answer for n, answer in self.answers.items() if n >= number}
            self.waiting = {n: asked for n, asked in self.waiting.items() if n >= number}


Guard: TypeAlias = Callable[[int, StoreRequest, KeyValues], str]
"""Why this asker may not have that carried out; empty if it may. Called in the store server's thread, which holds the key-value table."""


class MqttStoreServer:
    """Keeps a key-value table, for the threads of this process and for askers anywhere."""

    def __init__(
        self, address: Address, name: str, mark: int, clock: Clock, guard: Guard | None = None,
        of: JobCard | None = None,
    ) -> None:  # fmt: skip
        self.guard = guard
        self.address, self.name, self.mark, self._clock = address, name, mark, clock
        self.changed = clock.condition()
        self.key_values = KeyValues()
        self.dropped: Counter[str] = Counter()
        self.users = 1
        self._spoken = 0
        self._topics = Topics(name, of)
        self._askers: dict[int, Asker] = {}
        self._is_alone = self._is_closed = False
        self._has_rival = False  # another one was here, or is
        self._why_down = "it passes on nothing that we say"
        self._calls = 0  # how often the broker has passed on our question whether it lives
        self._called: float | None = None  # when it did so last; None while it has not
        self._problem = ""
        self._is_refused = self._is_others = False
        filters = [(self._topics.owner, 1), (self._topics.ask, 0)]
        will = Publication(self._topics.owner, self._frame(frames.DEAD), 1, True)
        self._connection = Connection(address, filters, will, self, clock)

    def _now(self) -> float:
        return self._clock.now() / PICO

    def start(self, deadline: Deadline) -> None:
        """Return once the broker has us as the only store server of this name."""
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
            raise problem_kind(self._is_refused, self._is_others)(self._problem)

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
                    answer = self.key_values.do(operation, keys, values)
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
        self, mark: int, asker: Asker, number: int, request: StoreRequest, deadline: Deadline
    ) -> bool:
        """Answer if it can be answered now; whether something was carried out."""
        answer: list[bytes] | Exception
        why = self.guard(mark, request, self.key_values) if self.guard is not None else ""
        try:
            if why:
                raise DistStoreError(f"{request.operation} of {request.keys[:1]}: {why}")
            answer = self.key_values.do(request.operation, request.keys, request.values)
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
                    self._read_presence(frame)
                else:
                    self._attend(frame)
        except FrameRefused as why:
            self.dropped[f"{why}"] += 1
        except streams.FrameError:
            self.dropped["request"] += 1
        except Exception:  # for any error, the others are served all the same
            _log.exception("the store named %r drops a request", self.name)
            self.dropped["error"] += 1

    def _read_presence(self, frame: Frame) -> None:
        """Read a frame that says which server keeps this store.

        We greet before we claim it. A retained frame comes before the echo of our greeting, and may be of a
        server that is long gone. A server that lives claims its place again when it hears us. So we ask it some
        times, and each question counts from its echo: then the other server has it, too.
        """
        is_ours = frame.mark == self.mark
        if frame.kind == frames.HELLO and is_ours and not self._has_rival:
            self._claim()
        elif frame.kind == frames.HELLO and is_ours:
            self._calls, self._called = self._calls + 1, self._now()
        elif frame.kind == frames.HELLO and not is_ours and self._is_alone:
            self._post_life(frames.PRESENT)
        elif frame.kind == frames.PRESENT and not is_ours and not self._is_alone:
            if self._has_rival:
                self._problem, self._is_others = self._why_rival(bytes(frame.body))
            else:
                self._has_rival = True
                self._post_life(frames.HELLO)
        self.changed.notify_all()

    def _why_rival(self, card: bytes) -> tuple[str, bool]:
        """Why we cannot keep this store, and whether another job keeps it."""
        broker = self.address.shown
        apart = self._topics.why_apart(card, broker)
        if apart:
            return apart, True
        said = job.clean(card[job.LENGTH :].decode(errors="replace"))
        return (
            f"somebody else keeps a store named {self.name!r} at {broker}: another job, or another rank 0 of this "
            f"one{said and f' ({said})'}. This is {self._topics.job}. Name yours: {broker}/NAME"
        ), False

    def _call_again(self) -> None:
        """Our last question was passed on, and nobody has answered it."""
        self._called = None
        if self._calls < CALLS:
            self._post_life(frames.HELLO)
        else:
            self._claim()

    def _claim(self) -> None:
        self._is_alone = True
        self._post_life(frames.PRESENT)
        self.changed.notify_all()

    def _attend(self, frame: Frame) -> None:
        if not self._is_alone:  # another job's clients may be greeting another server
            raise FrameRefused("early")
        if frame.kind == frames.HELLO or (
            frame.kind == frames.ASK and frame.peer_mark != self.mark
        ):
            self._welcome(frame.mark)  # also one that takes us for our predecessor
        elif frame.kind == frames.ASK:
            self._hear_out(frame)
        else:
            raise FrameRefused("kind")

    def _hear_out(self, frame: Frame) -> None:
        if frame.mark not in self._askers and len(self._askers) >= MAX_ASKERS:
            raise FrameRefused("askers")
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
            self._calls, self._called = 0, None
            self._post_life(frames.PRESENT if self._is_alone else frames.HELLO)

    def tick(self) -> None:
        with self.changed:
            now = self._now()
            if not self._is_alone and self._called is not None and now - self._called > HEARING:
                self._call_again()
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
        """Say which server keeps this store. A server that has closed claims nothing: the claim would be retained."""
        if self._is_closed:
            return
        is_lasting = kind == frames.PRESENT
        data = self._frame(kind, body=self._topics.card if is_lasting else b"")
        self._connection.post(Publication(self._topics.owner, data, 1, is_lasting))

    def _welcome(self, mark: int) -> None:
        """Say that we are here, and of which job."""
        data = self._frame(frames.WELCOME, mark, body=self._topics.card)
        self._connection.post(Publication(self._topics.answer(mark), data))

    def _say(self, mark: int, kind: int, number: int = 0, body: bytes = b"") -> None:
        post = Publication(self._topics.answer(mark), self._frame(kind, mark, number, body))
        self._connection.post(post)

    def close(self) -> None:
        """Tell the askers that there is nothing more to ask."""
        with self.changed:
            self._post_life(frames.BYE)
            self._is_closed = True
            self.changed.notify_all()
            self._connection.post(Publication(self._topics.owner, b"", 1, True))
        self._connection.close()

    def __repr__(self) -> str:
        return f"<MqttStoreServer of {len(self.key_values.values)} keys for {len(self._askers)} askers>"


def problem_kind(is_refused: bool, is_others: bool) -> type[DistNetworkError]:
    return NotLetIn if is_refused else OtherJob if is_others else DistNetworkError


def _late(seconds: float, keys: Sequence[str], need: NotYet) -> StoreTimeout:
    present = [key for key in keys if key not in need.missing]
    return StoreTimeout(seconds, need.missing, present, ADVICE)


def _packed(answer: list[bytes] | Exception) -> bytes:
    data = protocol.pack_answer(answer)[streams.LENGTH :]
    if len(data) > MAX_BODY:
        too_long = DistStoreError(f"an answer of {len(data)} bytes; a broker takes {MAX_BODY}")
        return protocol.pack_answer(too_long)[streams.LENGTH :]
    return data
