"""All peers of one rank behind one connection: what the I/O thread does with frames and with time.

    heard     unseal, check, acknowledge, and put what is next in order into `arrived`
    tick      heartbeats, repeats, and who must be given up
    up        the broker is (again) there: say hello, and repeat what was not acknowledged
    down      the broker is away: nobody is given up meanwhile; after `broker_timeout`, everybody is

A frame that is wrong in any way is dropped and counted by reason in `dropped`. It never raises into
anybody's program. The threads of the rank take from `arrived` and call what says *lock held* under
`changed`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from transports.clock import Clock
from transports.errors import PeerLost
from transports.mqtt_protocol import frames
from transports.mqtt_protocol.address import Address
from transports.mqtt_protocol.connection import Connection, Publication, refusal
from transports.mqtt_protocol.frames import Frame, FrameRefused
from transports.mqtt_protocol.listening import BrokerWatch
from transports.mqtt_protocol.peers import BEAT, CALM, LONGEST_REPEAT, REPEAT, Peer


@dataclass(frozen=True)
class Card:
    """The card that the ranks show each other through the store."""

    mark: int  # of this life
    where: str  # host and process, for errors
    run: str = ""
    broker: str = ""


class PeerTable(BrokerWatch):
    """The peers of one rank. Everything is guarded by `changed`."""

    def __init__(
        self, rank: int, cards: Mapping[int, Card], base: str, window: int, address: Address, clock: Clock
    ) -> None:
        super().__init__(address, clock)
        self.rank, self.mark = rank, cards[rank].mark
        self.key = frames.run_key(base)
        self._base, self._where = base, cards[rank].where
        self.peers: dict[int, Peer] = {}
        self.arrived: deque[tuple[Peer, Frame | None]] = deque()  # None: the peer is lost
        self.refusal = ""  # the broker does not let us in
        self.is_lost = False  # the broker was away for too long
        self.has_been_up = False
        self.is_leaving = False
        self._sources: dict[str, int] = {}  # whose frames come on which topic
        for peer, card in cards.items():
            if peer != rank:
                there, back = f"{base}/d/{peer}/{rank}", f"{base}/d/{rank}/{peer}"
                self.peers[peer] = Peer(peer, card.mark, card.where, there, window, clock.condition())
                self._sources[back] = self._sources[self._presence(peer)] = peer
        # It sends frames to nobody else, and never waits for room.
        self.oneself = Peer(rank, self.mark, self._where, f"{base}/d/{rank}/{rank}", 1 << 62, clock.condition())
        own_presence = self._presence(rank)
        will = Publication(own_presence, self._life(frames.DEAD), 1, True)
        self._present = Publication(own_presence, self._life(frames.PRESENT), 1, True)
        filters = [(f"{base}/d/{rank}/+", 0), (f"{base}/p/+", 1)]
        self.connection = Connection(address, filters, will, self, clock)

    def _presence(self, rank: int) -> str:
        return f"{self._base}/p/{rank}"

    def _life(self, kind: int) -> bytearray:
        frame = Frame(kind, self.rank, frames.EVERYBODY, self.mark, 0)
        return frames.seal(self.key, frame, self._where.encode())

    # -- the listener: called by the I/O thread ---------------------------------------------

    def heard(self, topic: str, payload: bytes) -> None:
        try:
            frame = self._admit(topic, payload)
        except FrameRefused as why:
            self.dropped[f"{why}"] += 1
            return
        with self.changed:
            peer = self.peers.get(frame.src)
            if peer is None or frame.mark != peer.mark:
                self.dropped["mark"] += 1
            elif frame.kind in (frames.PRESENT, frames.DEAD):
                self._read_presence(peer, frame)
            elif peer.is_alive:
                self._handle(peer, frame)
            elif peer.lost is not None and self._now() - peer.said > CALM:
                self._say_gone(peer)

    def _admit(self, topic: str, payload: bytes) -> Frame:
        """The frame, if everything about it is right but perhaps who it is from."""
        src = self._sources.get(topic)
        if src is None or not payload:  # our own presence, or one that was cleared
            raise FrameRefused("presence" if topic == self._presence(self.rank) else "topic")
        frame = frames.unseal(self.key, payload)
        is_life = topic == self._presence(src)
        dst, peer_mark = (frames.EVERYBODY, 0) if is_life else (self.rank, self.mark)
        if (frame.kind in (frames.PRESENT, frames.DEAD)) != is_life:
            raise FrameRefused("kind")
        if (frame.src, frame.dst) != (src, dst):
            raise FrameRefused("place")
        if frame.peer_mark != peer_mark:
            raise FrameRefused("mark")
        return frame

    def _read_presence(self, peer: Peer, frame: Frame) -> None:
        """Its presence. A word about life is no sign of life: it may be an old one, retained."""
        if not peer.is_alive:
            return
        if frame.kind == frames.DEAD and peer.suspected is None:
            peer.suspected = self._now()
            self.say(peer, frames.HELLO)  # if it lives, it answers as soon as it is back
        elif frame.kind == frames.PRESENT and peer.outgoing.unacknowledged:
            peer.must_repeat = True  # it has come back, and what was sent meanwhile is lost
            self._repeat_if_due(peer, self._now())

    def _handle(self, peer: Peer, frame: Frame) -> None:
        now = self._now()
        if frame.kind not in (frames.DATA, frames.BYE):
            if frame.seq <= peer.beat:  # a frame that was repeated is no sign of life
                self.dropped["again"] += 1
                return
            peer.beat = frame.seq
            peer.hear(now)
        if peer.outgoing.acknowledge(frame.acked, frame.limit):
            peer.patience, peer.repeated, peer.must_repeat = REPEAT, now, False
            self.changed.notify_all()
        if frame.kind == frames.HELLO:
            self.say(peer, frames.WELCOME)
            if not peer.is_welcome:
                self.say(peer, frames.HELLO)
        elif frame.kind == frames.GONE:
            self.lose(peer, f"it gave this rank up: {bytes(frame.body).decode(errors='replace')}")
        elif frame.kind == frames.ACK and frame.flags & frames.GAP:
            peer.must_repeat = True
            self._repeat_if_due(peer, now)
        if frame.kind in (frames.WELCOME, frames.DATA, frames.BYE) and not peer.is_welcome:
            peer.is_welcome = True
            self.changed.notify_all()
        if frame.kind in (frames.DATA, frames.BYE):
            self._accept(peer, frame, now)

    def _accept(self, peer: Peer, frame: Frame, now: float) -> None:
        incoming = peer.incoming
        if frame.seq >= incoming.limit and frame.kind != frames.BYE:
            self.dropped["credit"] += 1
            return
        if not incoming.accept(frame.seq):
            is_gap = frame.seq > incoming.expected
            self.dropped["gap" if is_gap else "again"] += 1
            if now - peer.corrected > CALM:
                peer.corrected = now
                self.say(peer, frames.ACK, frames.GAP if is_gap else 0)
            return
        peer.hear(now)
        if not peer.announce(frame):
            self.lose(peer, "it sent a message whose parts do not fit together")
            return
        self.arrived.append((peer, frame))
        if frame.kind == frames.BYE:
            peer.has_parted = True
            peer.outgoing.clear()
        if incoming.is_due() or frame.kind == frames.BYE:
            self.say(peer, frames.ACK)
        self.changed.notify_all()

    def written(self, tag: Peer) -> None:
        with self.changed:
            tag.queued = max(0, tag.queued - 1)
            tag.repeated = self._now()

    def up(self) -> None:
        with self.changed:
            self._down_since, self.has_been_up = None, True
            now = self._now()
            self.connection.post(self._present)
            for peer in self.peers.values():
                peer.reset(now)
                if peer.is_alive:
                    self.say(peer, frames.ACK if peer.is_welcome else frames.HELLO)
                    self._repeat(peer, now)
            self.changed.notify_all()

    def refused(self, reason: str) -> None:
        with self.changed:
            self.refusal = refusal(self.address, reason)
            self._lose_all(self.refusal)

    def tick(self) -> None:
        with self.changed:
            now = self._now()
            slept = self._slept(now)
            for peer in self.peers.values():
                peer.heard += slept
            if self._down_since is not None:
                if self.away() > self.address.broker_timeout and not self.is_lost:
                    self.is_lost = True
                    self._lose_all(self.why_away())
                return
            for peer in self.peers.values():
                if peer.is_alive:
                    self._tend(peer, now)

    def _tend(self, peer: Peer, now: float) -> None:
        why = peer.why_dead(now, self.address.broker_timeout)
        if why:
            self.lose(peer, why)
            return
        if not peer.is_welcome:
            self.say(peer, frames.HELLO)
        elif peer.incoming.has_news() or now - peer.said > BEAT:
            self.say(peer, frames.ACK)
        self._repeat_if_due(peer, now)

    def _repeat_if_due(self, peer: Peer, now: float) -> None:
        if peer.is_due_to_repeat(now):
            if now - peer.repeated > peer.patience:
                peer.patience = min(2 * peer.patience, LONGEST_REPEAT)
            peer.must_repeat = False
            self._repeat(peer, now)

    def _repeat(self, peer: Peer, now: float) -> None:
        peer.repeated = now
        for frame in peer.outgoing.unacknowledged:
            self.post(peer, frame)

    # -- what the rank's own threads use too: lock held ---------------------------------------

    def say(self, peer: Peer, kind: int, flags: int = 0, body: bytes = b"") -> None:
        """A frame outside the stream: it may get lost. Its number only says that it is new."""
        if kind == frames.HELLO:  # its receiver may not have our card
            body = self._where.encode()
        peer.spoken += 1
        frame = self.frame(kind, peer, flags, peer.spoken, *peer.incoming.tell())
        peer.said = self._now()
        self.connection.post(Publication(peer.topic, frames.seal(self.key, frame, body)))

    def frame(
        self,
        kind: int,
        peer: Peer,
        flags: int,
        seq: int,
        acked: int,
        limit: int,
        header_length: int = 0,
        total: int = 0,
    ) -> Frame:
        """A frame from us to that peer, as both are known in this life."""
        marks = self.mark, peer.mark
        return Frame(kind, self.rank, peer.rank, *marks, flags, seq, acked, limit, header_length, total)

    def push(self, peer: Peer, frame: bytearray) -> None:
        """Send the frame with the number `peer.outgoing.next`, until it is acknowledged."""
        if not peer.outgoing.unacknowledged:
            peer.repeated = self._now()
        peer.outgoing.push(frame)
        peer.said = self._now()
        self.post(peer, frame)

    def post(self, peer: Peer, frame: bytearray) -> None:
        if self.connection.post(Publication(peer.topic, frame, tag=peer)):
            peer.queued += 1

    def lose(self, peer: Peer, reason: str) -> None:
        """Give a peer up, and let it know."""
        if peer.is_alive:
            peer.lost = PeerLost(peer.rank, f"{reason} ({peer.where})")
            peer.outgoing.clear()
            self.arrived.append((peer, None))
            self._say_gone(peer)
            self.changed.notify_all()

    def _say_gone(self, peer: Peer) -> None:
        assert peer.lost is not None, "only who was lost is told so"
        self.say(peer, frames.GONE, body=peer.lost.reason.encode()[:1000])

    def _lose_all(self, reason: str) -> None:
        for peer in self.peers.values():
            self.lose(peer, reason)
        self.changed.notify_all()

    def farewell(self) -> None:
        """Leave no trace: clear our presence, and that of peers which can no longer."""
        self.connection.post(Publication(self._presence(self.rank), b"", 1, True))
        for peer in self.peers.values():
            if peer.lost is not None and not peer.has_parted:
                self.connection.post(Publication(self._presence(peer.rank), b"", 1, True))
