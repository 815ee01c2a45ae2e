"""The side of an MQTT store that keeps the values: it answers requests, and wakes waiting clients.

    mtd/<name>/s/ask              everybody asks here; mtd/<name>/<job>/s/ask where a launcher has drawn an id
    mtd/<name>/s/answer/<mark>    each asker's answers
    mtd/<name>/s/owner            the store server's presence: retained, and its last will

Frames may get lost or come twice. So askers number their requests, and ask again until they are answered.
The store server carries each number out once. It repeats an answer that it has given, and a request that
waits goes on waiting. So a command is carried out exactly once, in spite of the broker.

Bytes that the broker has not taken yet are counted for each asker, and an answer that finds no room is not said. It will be
asked for again in a second. So an asker that takes nothing costs little. Answers are kept as the table keeps
its values, without a copy, and those of an asker that is silent for long are forgotten.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any, TypeAlias

from transports import frames as streams, job
from transports.clock import Clock
from transports.errors import DistNetworkError, DistStoreError, OtherJob
from transports.job import JobCard
from transports.mqtt_protocol import frames
from transports.mqtt_protocol.address import Address
from transports.mqtt_protocol.asker import MAX_ASKERS, MAX_WAITING, Asker, Waiter
from transports.mqtt_protocol.connection import Connection, Publication
from transports.mqtt_protocol.frames import Frame, FrameRefused
from transports.mqtt_protocol.peers import SILENCE
from transports.mqtt_protocol.store_end import MAX_BODY, MqttStoreEnd
from transports.stores import protocol
from transports.stores.key_values import READS, KeyValues, NotYet
from transports.stores.protocol import StoreRequest
from transports.stores.store import ADVICE
from transports.stores.timers import Timers
from transports.stores.waiting import KeyWaiters

_log = logging.getLogger("transports.stores")
# One who keeps a store of our name has to show that it lives: so often we ask, and so many seconds we
# wait after the broker has passed a question on. Seconds in which the broker stands still do not count.
CALLS, HEARING = 4, 0.5
FORGOTTEN = 600.0  # seconds of silence, after which nobody will ask for an old answer
# bytes of answers on their way to the broker: of one asker, of all
ROOM, ROOM_FOR_ALL = 1 << 20, 32 << 20


Guard: TypeAlias = Callable[[int, StoreRequest, KeyValues], str]
"""Why this asker may not have that carried out; empty if it may. Called in the store server's thread, which holds the key-value table."""


class MqttStoreServer(MqttStoreEnd):
    """Keeps a key-value table, for the threads of this process and for askers anywhere."""

    def __init__(
        self, place: Address, name: str, mark: int, clock: Clock, of: JobCard | None = None, guard: Guard | None = None
    ) -> None:
        super().__init__(place, name, mark, clock, of)
        self.guard = guard
        self.key_values = KeyValues()
        self._spoken = 0
        self._askers: dict[int, Asker] = {}  # the one that was silent longest first
        self._waiting: KeyWaiters[Waiter] = KeyWaiters(self.key_values)
        self._late: Timers[Waiter] = Timers(clock)
        self._silent: Timers[int] = Timers(clock)
        self._on_the_way = 0  # bytes of answers
        self._is_alone = self._is_closed = False
        self._is_known = False  # the broker has passed on our claim: later ones hear of it
        self._turned_away = 0  # the mark of the server that claimed our place last
        self._has_rival = False  # another one was here, or is
        self._why_down = "it passes on nothing that we say"
        self._calls = 0  # how often the broker has passed on our question whether it lives
        self._called: float | None = None  # when it did so last; None while it has not
        filters = [(self._topics.owner, 1), (self._topics.ask, 0)]
        will = Publication(self._topics.owner, self._frame(frames.DEAD), 1, True)
        self._connection = Connection(place, filters, will, self, clock)

    def _is_ready(self) -> bool:
        """Whether the broker has us as the only store server of this name."""
        return self._is_known

    def _why_not_ready(self, seconds: float) -> str:
        return f"{self.why_away(seconds)}. {self._connection.why_vain()}"

    # -- commands ---------------------------------------------------------------------------

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        """For the threads of this process."""
        deadline = self.clock.deadline(None if timeout == inf else timeout)
        with self.changed:
            while True:
                if self._is_closed:
                    raise DistStoreError(f"the store named {self.name!r} was closed")
                try:
                    answer = self.key_values.do(operation, keys, values)
                except NotYet as need:
                    if deadline.is_over():
                        raise need.late(timeout, keys, ADVICE) from None
                    self.changed.wait(deadline.left())
                else:
                    if operation not in READS:
                        self._tell(keys)
                    return answer

    def _tell(self, keys: Iterable[str]) -> None:
        """These keys have changed: answer those who waited for nothing else."""
        self.changed.notify_all()
        for mark, number in self._waiting.ready(keys):
            self._answer_waiting(mark, number, is_late=False)

    def _answer_waiting(self, mark: int, number: int, is_late: bool) -> None:
        request = self._stop_waiting(mark, number)
        try:
            self._answer(mark, number, request, is_late)
        except Exception:  # the others that wait are answered all the same
            _log.exception("the store named %r drops a request", self.name)
            self.dropped["error"] += 1

    def _stop_waiting(self, mark: int, number: int) -> StoreRequest:
        self._waiting.remove((mark, number))
        self._late.clear((mark, number))
        return self._askers[mark].waiting.pop(number)

    def _answer(self, mark: int, number: int, request: StoreRequest, is_late: bool) -> None:
        """Carry it out and answer, or let it wait."""
        answer: list[bytes] | Exception
        why = self.guard(mark, request, self.key_values) if self.guard is not None else ""
        asker = self._askers[mark]
        try:
            if why:
                raise DistStoreError(f"{request.operation} of {request.keys[:1]}: {why}")
            answer = self.key_values.do(request.operation, request.keys, request.values)
        except NotYet as need:
            if not is_late and request.seconds > 0:
                asker.wait(number, request)
                self._waiting.add((mark, number), request.operation, request.keys)
                self._late.set((mark, number), request.seconds)
                return
            answer = need.late(request.seconds, request.keys, ADVICE)
        except DistStoreError as error:
            answer = error
        asker.keep(number, answer)
        self._say_answer(mark, number, answer)
        if request.operation not in READS and not isinstance(answer, Exception):
            self._tell(request.keys)

    # -- the listener: called by the connection's thread ------------------------------------

    def _read_presence(self, frame: Frame) -> None:
        """Read a frame that says which server keeps this store.

        We greet before we claim it. A retained frame comes before the echo of our greeting, and may be of a
        server that is long gone. A server that lives claims its place again when it hears us. So we ask it some
        times, and each question counts from its echo: then the other server has it, too. Of two that claim
        it at the same time the broker passes on one first, to both.
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
                self._problem = self._rival(bytes(frame.body))
            else:
                self._has_rival = True
                self._post_life(frames.HELLO)
        elif frame.kind == frames.PRESENT and is_ours:
            self._is_known = True
        elif frame.kind == frames.PRESENT and not self._is_known:
            self._problem = self._rival(bytes(frame.body))
        elif frame.kind == frames.PRESENT and frame.mark != self._turned_away:
            # it gives up, and its claim must not be the one that is retained
            self._turned_away = frame.mark
            self._post_life(frames.PRESENT)
        self.changed.notify_all()

    def _rival(self, card: bytes) -> DistNetworkError:
        """Why we cannot keep this store: another job, or another server of ours, keeps it."""
        broker = self.address.shown
        apart = self._topics.why_apart(card, broker)
        if apart:
            return OtherJob(apart)
        said = job.clean(card[job.LENGTH :].decode(errors="replace"))
        return DistNetworkError(
            f"somebody else keeps a store named {self.name!r} at {broker}: another job, or another rank 0 of this "
            f"one{said and f' ({said})'}. This is {self._topics.job}. Name yours: {broker}/NAME"
        )

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

    def _listen(self, frame: Frame) -> None:
        if not self._is_alone:  # another job's clients may be greeting another server
            raise FrameRefused("early")
        if frame.kind == frames.HELLO or (frame.kind == frames.ASK and frame.peer_mark != self.mark):
            # Say that we are here, and of which job; also to one that takes us for our predecessor.
            self._say(frame.mark, frames.WELCOME, body=self._topics.card)
        elif frame.kind == frames.ASK:
            self._hear_out(frame)
        else:
            raise FrameRefused("kind")

    def _hear_out(self, frame: Frame) -> None:
        mark, number = frame.mark, frame.seq
        asker = self._asker(mark)
        for old in dict.fromkeys(asker.settle(frame.acked)):
            self._stop_waiting(mark, old)
        if number in asker.answers:
            self._say_answer(mark, number, asker.answers[number])
        elif number in asker.waiting:
            self._say(mark, frames.ACK, number)
        elif len(asker.waiting) >= MAX_WAITING:
            raise FrameRefused("waiting")
        elif number >= asker.settled:
            self._answer(mark, number, protocol.unpack_request(frame.body), is_late=False)

    def _asker(self, mark: int) -> Asker:
        """The one that has just been heard. A new one takes the place of another that was silent for longest."""
        asker = self._askers.pop(mark, None) or Asker()
        while len(self._askers) >= MAX_ASKERS:
            oldest = next(iter(self._askers))
            self._part_with(oldest)
            del self._askers[oldest]
            self._silent.clear(oldest)
        self._askers[mark] = asker
        asker.is_silent = False
        self._silent.set(mark, SILENCE)
        return asker

    def _part_with(self, mark: int) -> None:
        """Nothing may be popped for somebody who is gone."""
        for number in list(self._askers[mark].waiting):
            self._stop_waiting(mark, number)

    def _fell_silent(self, mark: int) -> None:
        """First its waiting ends, long after that its answers go. A command that was carried out once never is again."""
        asker = self._askers[mark]
        if not asker.is_silent:
            asker.is_silent = True
            self._part_with(mark)
            self._silent.set(mark, FORGOTTEN)
        elif asker.answers:
            asker.settle(max(asker.answers) + 1)

    def up(self) -> None:
        with self.changed:
            self._on_the_way = 0  # nothing that was queued survives a new connection
            for asker in self._askers.values():
                asker.on_the_way = 0
            self._calls, self._called = 0, None
            self._post_life(frames.PRESENT if self._is_alone else frames.HELLO)

    def tick(self) -> None:
        with self.changed:
            now = self._now()
            if not self._is_alone and self._called is not None and now - self._called > HEARING:
                self._call_again()
            for mark in self._silent.over():
                self._fell_silent(mark)
            for mark, number in self._late.over():
                self._answer_waiting(mark, number, is_late=True)

    def written(self, tag: Any) -> None:
        """The broker has taken an answer to this asker, of so many bytes."""
        mark, nbytes = tag
        with self.changed:
            self._on_the_way = max(0, self._on_the_way - nbytes)
            asker = self._askers.get(mark)
            if asker is not None:
                asker.on_the_way = max(0, asker.on_the_way - nbytes)

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

    def _say(self, mark: int, kind: int, number: int = 0, body: bytes = b"") -> None:
        self._connection.post(Publication(self._topics.answer(mark), self._frame(kind, mark, number, body)))

    def _say_answer(self, mark: int, number: int, answer: list[bytes] | Exception) -> None:
        """Say it, if there is room on the way to the broker; else the asker asks again."""
        asker = self._askers[mark]
        if asker.on_the_way >= ROOM or self._on_the_way >= ROOM_FOR_ALL:
            self.dropped["no room"] += 1
        else:
            body = protocol.pack_answer(answer, MAX_BODY)[streams.LENGTH :]
            frame = self._frame(frames.ANSWER, mark, number, body)
            asker.on_the_way += len(frame)
            self._on_the_way += len(frame)
            tag = mark, len(frame)
            self._connection.post(Publication(self._topics.answer(mark), frame, tag=tag))

    def close(self) -> None:
        """Tell the askers that there is nothing more to ask."""
        with self.changed:
            self._post_life(frames.BYE)
            self._is_closed = True
            self.changed.notify_all()
            self._connection.post(Publication(self._topics.owner, b"", 1, True))
        self._connection.close()
