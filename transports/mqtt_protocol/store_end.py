"""The server and the clients of an MQTT store alike: they come, hear frames, and say why they cannot go on."""

from __future__ import annotations

import logging

from transports import frames as streams, job
from transports.clock import Clock, Deadline
from transports.errors import DistNetworkError, NotLetIn
from transports.job import JobCard
from transports.mqtt_protocol import frames
from transports.mqtt_protocol.address import Address
from transports.mqtt_protocol.connection import Connection, refusal
from transports.mqtt_protocol.frames import Frame, FrameRefused
from transports.mqtt_protocol.listening import BrokerWatch

_log = logging.getLogger("transports.stores")
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


class MqttStoreEnd(BrokerWatch):
    """A connection, the threads that wait for it, and the reason why it cannot go on. Each side makes `_connection`."""

    _connection: Connection

    def __init__(self, address: Address, name: str, mark: int, clock: Clock, of: JobCard | None) -> None:
        super().__init__(address, clock)
        self.name, self.mark = name, mark
        self._topics = Topics(name, of)
        self._problem: DistNetworkError | None = None  # why it cannot go on

    def _is_ready(self) -> bool:
        raise NotImplementedError

    def _why_not_ready(self, seconds: float) -> str:
        raise NotImplementedError

    def start(self, deadline: Deadline) -> None:
        """Return once the server is the only one of its name, or has answered its client."""
        self._connection.start()
        with self.changed:
            while not self._is_ready() and self._problem is None:
                if deadline.is_over() or self._connection.is_vain():
                    self._problem = DistNetworkError(self._why_not_ready(deadline.elapsed()))
                    break
                self.changed.wait(deadline.left())
        if self._problem is not None:
            self._connection.close()
            raise self._problem

    # -- the listener: called by the connection's thread ------------------------------------

    def heard(self, topic: str, payload: bytes) -> None:
        try:
            frame = frames.unseal(self._topics.key, payload)
            with self.changed:
                if topic == self._topics.owner:
                    self._read_presence(frame)
                else:
                    self._listen(frame)
        except FrameRefused as why:
            self.dropped[f"{why}"] += 1
        except streams.FrameError:
            self.dropped["request"] += 1
        except Exception:  # for any error, the others are served all the same
            _log.exception("the store named %r drops a frame", self.name)
            self.dropped["error"] += 1

    def _read_presence(self, frame: Frame) -> None:
        """Read a frame that says which server keeps this store."""
        raise NotImplementedError

    def _listen(self, frame: Frame) -> None:
        """Read a frame for the server, or for one client."""
        raise NotImplementedError

    def refused(self, reason: str) -> None:
        with self.changed:
            self._give_up(NotLetIn(refusal(self.address, reason)))

    def _give_up(self, problem: DistNetworkError) -> None:
        self._problem = problem
        self.changed.notify_all()
