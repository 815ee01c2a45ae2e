"""One other rank, as the I/O thread of `mqtt` sees it: its flow, and whether it lives.

A rank that computes may be slow, and a broker may be away; neither makes a peer dead:

    frames come (at the latest a beat each 2 s)     alive
    its will came: its connection ended             suspected; any frame clears that within 3 s
    nothing came for 10 s, though we were connected, and awake, all that time      lost
"""

from __future__ import annotations

from transports.clock import Condition
from transports.contract import Sink
from transports.errors import PeerLost
from transports.mqtt_protocol import frames
from transports.mqtt_protocol.flow import IncomingFlow, Outgoing
from transports.mqtt_protocol.frames import Frame

BEAT = 2.0  # seconds after which an idle rank says that it lives
SILENCE = 10.0  # seconds without a frame after which a peer is lost
GRACE = 3.0  # seconds in which a peer whose connection ended has to be heard of
ASLEEP = 1.0  # seconds by which a look at the time is late when it was we who stood still
CALM = 0.2  # seconds between two corrections that say the same
REPEAT, LONGEST_REPEAT = 1.0, 8.0  # seconds until what was not acknowledged is sent again


class Peer:
    """All that is known about one other rank. Guarded by the transport's condition."""

    def __init__(self, rank: int, mark: int, where: str, topic: str, window: int, sending: Condition) -> None:
        self.rank, self.mark, self.where, self.topic = rank, mark, where, topic
        self.sending = sending  # held by the thread whose message is on its way
        self.outgoing, self.incoming = Outgoing(window), IncomingFlow(window)
        self.is_welcome = False  # it has answered our HELLO: it hears us, and we hear it
        self.has_parted = False  # it said goodbye
        self.lost: PeerLost | None = None
        self.spoken = self.beat = 0  # numbers of the last frames outside the stream: ours, its
        # what is being received: in the I/O thread, and in the thread that delivers
        self.announced = 0
        self.sink: Sink | None = None
        # time, in seconds of the event loop
        self.heard = self.said = self.repeated = self.corrected = 0.0
        self.was_heard = False
        self.suspected: float | None = None
        self.patience = REPEAT
        self.queued = 0  # frames that wait to be written to the broker
        self.must_repeat = False  # it told us that something is missing

    @property
    def is_alive(self) -> bool:
        return self.lost is None and not self.has_parted

    def announce(self, frame: Frame) -> bool:
        """Whether this frame can be the next part of what the peer is sending."""
        if frame.kind == frames.BYE:
            return True
        if frame.flags & frames.FIRST:
            if self.announced:
                return False
            self.announced = frame.total + frame.header_length
        elif not frame.body:
            return False
        self.announced -= len(frame.body)
        return self.announced >= 0

    def hear(self, now: float) -> None:
        self.heard, self.was_heard, self.suspected = now, True, None

    def reset(self, now: float) -> None:
        """Our connection to the broker is new: nothing queued is left, all may have been lost."""
        self.queued, self.must_repeat, self.patience = 0, False, REPEAT
        self.heard = self.said = self.repeated = now
        if self.suspected is not None:
            self.suspected = now

    def why_dead(self, now: float, allowance: float) -> str:
        """Why it must be given up now; empty while it need not."""
        silent = now - self.heard
        if self.suspected is not None and now - self.suspected > GRACE:
            return f"its connection to the broker ended, and it did not come back in {GRACE:g} s"
        if silent > (SILENCE if self.was_heard else allowance):
            return f"nothing was heard of it for {silent:.0f} s, and its heartbeat is {BEAT:g} s"
        return ""

    def is_due_to_repeat(self, now: float) -> bool:
        """Whether what is not acknowledged should be sent again."""
        if not self.outgoing.unacknowledged or self.queued:
            return False
        return now - self.repeated > (CALM if self.must_repeat else self.patience)
