"""The side of an MQTT store that asks: numbers its commands, and asks again until it is answered.

The store server's mark, learnt in the handshake, stands in every command. A store server of another life
ignores a command that a stranger has recorded. A store server that began anew is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence

from transports import frames as streams
from transports.clock import Clock
from transports.errors import DistNetworkError, OtherJob
from transports.job import JobCard
from transports.mqtt_protocol import frames
from transports.mqtt_protocol.address import Address
from transports.mqtt_protocol.connection import Connection, Publication
from transports.mqtt_protocol.frames import Frame, FrameRefused
from transports.mqtt_protocol.peers import GRACE, SILENCE
from transports.mqtt_protocol.store_end import MAX_BODY, MqttStoreEnd
from transports.stores import protocol
from transports.stores.protocol import StoreRequest

REPEAT = 1.0  # seconds until a command is said again


class MqttStoreClient(MqttStoreEnd):
    """Asks the store server of a store, for any number of threads."""

    def __init__(self, address: Address, name: str, mark: int, clock: Clock, of: JobCard | None = None) -> None:
        super().__init__(address, name, mark, clock, of)
        self._store_server = 0  # its mark
        self._beat = 0  # the number of its last frame
        self._number = 0
        self._asked: dict[int, bytearray] = {}
        self._answers: dict[int, bytes] = {}
        self._heard = self._said = self._now()
        self._suspected: float | None = None
        filters = [(self._topics.answer(mark), 0), (self._topics.owner, 1)]
        self._connection = Connection(address, filters, None, self, clock)

    def _is_ready(self) -> bool:
        """Whether a store server has answered."""
        return bool(self._store_server)

    def _why_not_ready(self, seconds: float) -> str:
        if self._down_since is not None:
            return f"{self.why_away(seconds)}. {self._connection.why_vain()}"
        return (
            f"waited {seconds:.1f} s, but nobody keeps a store named {self.name!r} at {self.address.shown}. Rank 0 does: "
            "look at its first error, and whether it uses this broker, this name, and the same MINITORCH_DIST_KEY"
        )

    # -- commands ---------------------------------------------------------------------------

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        request = StoreRequest(operation, list(keys), list(values), timeout)
        body = protocol.pack_request(request, MAX_BODY)[streams.LENGTH :]
        with self.changed:
            number = self._number
            self._number += 1
            try:
                self._ask(number, body)
                while number not in self._answers:
                    if self._problem is not None:
                        raise DistNetworkError(f"{self._problem}")
                    self.changed.wait()
                answer = self._answers.pop(number)
            finally:
                self._asked.pop(number, None)
                self._answers.pop(number, None)
        return protocol.unpack_answer(answer, timeout)

    def _ask(self, number: int, body: bytes) -> None:
        settled = min([number, *self._asked])
        frame = Frame(frames.ASK, 0, 0, self.mark, self._store_server, seq=number, acked=settled)
        self._asked[number] = frames.seal(self._topics.key, frame, body)
        self._heard = max(self._heard, self._now() - 1)  # it had no reason to speak before
        self._connection.post(Publication(self._topics.ask, self._asked[number]))

    # -- the listener: called by the connection's thread ------------------------------------

    def _read_presence(self, frame: Frame) -> None:
        """The store server's presence."""
        if frame.kind == frames.PRESENT:  # it came (back) to the broker: now it hears us
            self._repeat()
        elif frame.mark == self._store_server and frame.kind == frames.BYE:
            self._lose("is gone: rank 0 closed it. Look at the first error of rank 0")
        elif frame.mark == self._store_server and frame.kind == frames.DEAD and self._suspected is None:
            self._suspected = self._now()
            self._say_hello()

    def _listen(self, frame: Frame) -> None:
        if frame.peer_mark != self.mark:
            raise FrameRefused("mark")
        if frame.kind == frames.WELCOME and frame.mark != self._store_server:
            apart = self._topics.why_apart(bytes(frame.body), self.address.shown)
            if apart and self._store_server:
                return None  # it came too early, or too late
            if apart:
                return self._give_up(OtherJob(apart))
            self._store_server = self._store_server or frame.mark
        if frame.mark != self._store_server:
            return self._lose("began anew, and what was in it is gone: rank 0 was started again. Start all ranks again")
        if frame.acked > self._beat:
            self._beat = frame.acked
            self._heard, self._suspected = self._now(), None
        if frame.kind == frames.ANSWER and frame.seq in self._asked:
            self._answers[frame.seq] = bytes(frame.body)
            del self._asked[frame.seq]
        self.changed.notify_all()
        return None

    def _lose(self, how: str) -> None:
        self._give_up(DistNetworkError(f"the store named {self.name!r} at {self.address.shown} {how}"))

    def up(self) -> None:
        with self.changed:
            self._down_since = None
            self._heard = self._now()
            if self._suspected is not None:
                self._suspected = self._now()
            self._repeat()

    def tick(self) -> None:
        with self.changed:
            now = self._now()
            self._heard += self._slept(now)
            if self._down_since is not None:
                if self.away() > self.address.broker_timeout and self._store_server:
                    self._give_up(DistNetworkError(self.why_away()))
            elif self._is_forsaken(now):
                self._lose(
                    "does not answer: rank 0, which keeps it, has ended or stands still. Look at its first error"
                )
            elif now - self._said > REPEAT or not self._store_server:
                self._repeat()

    def _is_forsaken(self, now: float) -> bool:
        if not self._store_server:
            return False
        is_dead = self._suspected is not None and now - self._suspected > GRACE
        return is_dead or (bool(self._asked) and now - self._heard > SILENCE)

    def _repeat(self) -> None:
        self._said = self._now()
        if not self._store_server or self._suspected is not None:
            self._say_hello()
        for data in self._asked.values():
            self._connection.post(Publication(self._topics.ask, data))

    def _say_hello(self) -> None:
        data = frames.seal(self._topics.key, Frame(frames.HELLO, 0, 0, self.mark, 0))
        self._connection.post(Publication(self._topics.ask, data))

    def written(self, tag: object) -> None: ...

    def close(self) -> None:
        with self.changed:
            self._give_up(self._problem or DistNetworkError("this store was closed"))
        self._connection.close()
