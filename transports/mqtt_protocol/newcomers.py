"""A run whose ranks come one after the other: an unknown rank is let in, and a rank that is asked answers.

    newcomer                                 member
    KNOCK 7 ──────────────────────────────►  a question, of anybody who holds the key
            ◄──────────────────────────────  HERE 7       so its name and number are taken
    HELLO   ──────────────────────────────►  not known: a new peer, in the place of who had its rank
            ◄──────────────────────────────  WELCOME      and all goes on as among ranks of one start

A mark that was replaced is never let in again, so nobody who has recorded the HELLO of a life that
is over can bring it back. A knock is answered by the I/O thread, however busy its rank is; where the
broker has said that a rank's connection ended, less patience is shown.
"""

from __future__ import annotations

from contextlib import suppress

from transports.clock import Clock, Deadline
from transports.errors import ConnectError
from transports.mqtt_protocol import frames
from transports.mqtt_protocol.address import Address
from transports.mqtt_protocol.connection import Publication
from transports.mqtt_protocol.frames import Frame
from transports.mqtt_protocol.peer_table import Card, PeerTable
from transports.mqtt_protocol.peers import GRACE, SILENCE, Peer

WINDOW = 8  # chunks on their way to one peer; nobody knows how many there will be
AGAIN = 0.5  # seconds until a knock is repeated


class OpenExchange(PeerTable):
    """An exchange that begins with no peers."""

    def __init__(self, rank: int, card: Card, base: str, address: Address, clock: Clock) -> None:
        self._former: set[int] = set()  # marks of peers whose place another one has taken
        self._dead: set[int] = set()  # marks whose connection has ended, as the broker says
        self._here: set[int] = set()  # marks that have answered our knock
        self._knocks = 0
        super().__init__(rank, {rank: card}, base, WINDOW, address, clock)

    # -- who comes --------------------------------------------------------------------------

    def source_of(self, topic: str) -> int | None:
        found = super().source_of(topic)
        if found is None:
            for front in (f"{self._base}/d/{self.rank}/", f"{self._base}/p/"):
                number = topic.removeprefix(front)
                if (
                    topic.startswith(front)
                    and len(number) <= 5
                    and number.isascii()
                    and number.isdecimal()
                ):
                    return int(number)
        return found

    def stranger(self, frame: Frame) -> Peer | None:
        if frame.kind == frames.DEAD and frame.mark != self.mark:
            self._dead.add(frame.mark)
            self.changed.notify_all()
        is_new = frame.mark not in self._former and frame.src != self.rank
        if frame.kind != frames.HELLO or not is_new or self.is_leaving:
            return None
        return self.meet(frame.src, Card(frame.mark, bytes(frame.body).decode(errors="replace")))

    def meet(self, rank: int, card: Card) -> Peer:
        before = self.peers.get(rank)
        if before is not None:
            self.lose(before, "another one has taken its place")
            self._former.add(before.mark)
        peer = super().meet(rank, card)
        peer.reset(self._now())
        return peer

    # -- who is there -----------------------------------------------------------------------

    def asked(self, frame: Frame) -> None:
        if frame.kind == frames.HERE:
            if frame.seq == self._knocks:
                self._here.add(frame.mark)
                self.changed.notify_all()
        elif frame.mark != self.mark and not self.is_leaving:
            self._send(frames.HERE, frame.src, frame.mark, frame.seq)

    def _send(self, kind: int, rank: int, mark: int, number: int) -> None:
        frame = Frame(kind, self.rank, rank, self.mark, mark, seq=number)
        topic = f"{self._base}/d/{rank}/{self.rank}"
        self.connection.post(Publication(topic, frames.seal(self.key, frame)))

    def is_there(self, rank: int, mark: int) -> bool:
        """Whether the life with this mark goes on. ConnectError if there is nobody to ask through."""
        with self.changed:
            known = self.peers.get(rank)
            if known is not None and known.mark == mark and known.has_parted:
                return False  # it said so
            self._knocks += 1
            begun, knocked = self._now(), -AGAIN
            self._here.discard(mark)
            while mark not in self._here:
                now = self._now()
                if self.is_lost or self.refusal:
                    raise ConnectError(self.refusal or self.why_away())
                if self._down_since is not None:
                    begun = now  # the silence is the broker's
                if now - begun > (GRACE if mark in self._dead else SILENCE):
                    return False
                if now - knocked > AGAIN:
                    knocked = now
                    self._send(frames.KNOCK, rank, mark, self._knocks)
                self.changed.wait(AGAIN)
            return True

    def reach(self, rank: int, card: Card, deadline: Deadline) -> None:
        """Greet a rank until it answers."""
        with self.changed:
            peer = self.meet(rank, card)
            self.say(peer, frames.HELLO)
            while not peer.is_welcome and peer.lost is None and not deadline.is_over():
                self.changed.wait(deadline.left())
            if not peer.is_welcome:
                self.lose(peer, f"it did not answer in {deadline.elapsed():.1f} s")
                assert peer.lost is not None, "it was lost just now, if not before"
                with suppress(ValueError):  # it never was here: nobody is told that it is lost
                    self.arrived.remove((peer, None))
                raise ConnectError(
                    f"rank {self.rank} did not reach rank {rank} through the broker at "
                    f"{self.address.shown}: {peer.lost.reason}"
                )
