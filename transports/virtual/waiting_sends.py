"""Sends that wait in virtual time: for room, for a receiver that waits or polls, or for their own receive.

    window        no more bytes are on their way than the network's window holds
    offers        a message comes when its receiver waits or polls; one of them at a time, and those of the
                  same sender behind it
    strict        a message comes when its own receive is posted (`rendezvous_sends`)

A send that waits delivers meanwhile what arrives at its rank. Most networks have none of these limits, and then
`transports.sim` sends each message at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from transports.contract import Begun, Buffer, Inbox, flat
from transports.errors import PeerLost
from transports.virtual.ends import SimEnd
from transports.virtual.inboxes import Claims, Waiting
from transports.virtual.medium import SimMessage
from transports.virtual.read_on_landing import ReadOnLanding
from transports.virtual.rendezvous_sends import Offers, Pairs, RendezvousSend
from transports.virtual.worlds import ConnectedEnds


class WaitingSends(SimEnd):
    """An end whose sends may wait, and whose receives others may wait for."""

    __slots__ = ()

    def _nobody(self, dst: int) -> Exception:
        """Why there is no such rank."""
        if 0 <= dst < self.world_size:
            return PeerLost(dst, "it has not come yet")
        return ValueError(f"there is no rank {dst} in a world of {self.world_size}")

    def _pair_with_receives(self, inbox: Inbox) -> None:
        """If the network wants it, let messages wait for their own receives."""
        limit = self.medium.network.rendezvous
        if limit is not None and isinstance(inbox, Claims):
            if self.virtual.pairs is None:
                self.virtual.pairs = Pairs(self.virtual)
            self.strict = Offers(self.rank, inbox, limit, self.virtual.pairs, self.wake_waiting)

    def _goes_by_itself(self, peer: WaitingSends, message: SimMessage) -> bool:
        """Whether a message may leave now. One that has to meet its receiver is sent here."""
        network = self.medium.network
        if peer.strict is not None and peer.strict.keeps(message):
            if not peer.strict.returns_at_once(message):
                self._until_landed(message, None)
            return False
        if self._meets_receiver(message):
            self._offer(peer, message)
            self._until_landed(message, None)
            return False
        if self._is_behind(peer):
            self._offer(peer, message)  # its bytes are in a buffer, so its sender may go on
            return False
        if network.window is not None and not self._has_room(message.nbytes, network.window):
            what = f"room to send {message.nbytes} bytes to rank {message.dst.rank}"
            room = partial(self._has_room, message.nbytes, network.window)
            self._stand_by(room, message.dst.rank, Waiting((), what))
        return True

    def _has_room(self, nbytes: int, window: int) -> bool:
        return not self._outgoing_bytes or self._outgoing_bytes + nbytes <= window

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
            ReadOnLanding(medium, self, peer, header, view)
            if medium.reads_late
            else SimMessage(medium, self, peer, header, bytes(view))
        )
        if dst == self.rank:
            self._deliver(self.rank, header, message.payload)
            message.has_landed = True
            return RendezvousSend(message, self._until_landed)
        if medium.witness is not None:
            medium.witness("send", self.rank, dst, message.nbytes, header, bytes(view))
        if peer.strict is None or not peer.strict.keeps(message):
            if self._meets_receiver(message) or self._is_behind(peer):
                self._offer(peer, message)
            else:
                self.set_out(message)
        return RendezvousSend(message, self._until_landed)

    # ----------------------------------------------------------------------- meeting the receiver

    def _meets_receiver(self, message: SimMessage) -> bool:
        """Whether this message comes when its receiver waits, or polls."""
        medium, eager = self.medium, self.medium.network.eager
        is_chosen = medium.meets is not None and medium.meets(message)
        return is_chosen or (eager is not None and message.nbytes > eager)

    def _is_behind(self, peer: WaitingSends) -> bool:
        """Whether one of ours waits for that receiver already: messages keep their order."""
        return any(message.src is self for message in peer._offers)

    def _offer(self, peer: WaitingSends, message: SimMessage) -> None:
        """It comes when its receiver waits, or polls; within a bound, where there is one."""
        peer._offers.append(message)
        peer._accept()
        within = self.medium.meets_within
        if within is not None and message in peer._offers:
            self.virtual.at(self.virtual.now() + within, partial(peer._must_come, message))

    def _must_come(self, message: SimMessage) -> None:
        if message in self._offers:
            self._offers.remove(message)
            message.src.set_out(message)

    def _until_landed(self, message: SimMessage, timeout: float | None) -> None:
        """Wait until what we sent is there; after `timeout` go on."""
        peer = message.dst
        assert isinstance(peer, WaitingSends)
        is_strict = peer.strict is not None
        because = "its receive is not posted" if is_strict else "rendezvous"
        why = Waiting((peer.rank,), f"send of {message.nbytes} bytes ({because})", is_strict)
        try:
            self._stand_by(lambda: message.has_landed, peer.rank, why, timeout)
        except BaseException:
            message.is_void = True
            if message in peer._offers:
                peer._offers.remove(message)
            if peer.strict is not None:
                peer.strict.remove(message)
            raise

    def _stand_by(self, done: Callable[[], bool], dst: int, why: Waiting, timeout: float | None = None) -> None:
        """Wait within a send, delivering what arrives meanwhile."""
        deadline = self.clock.deadline(self.patience if timeout is None else timeout)
        while not done():
            world = self._demand_open()
            self._hear(world)
            if not deadline.is_over() and dst not in self._lost:
                self._sends_waiting += 1
                ends: Callable[[], bool] = lambda: done() or dst in self._lost or self._is_closed  # noqa: E731
                try:
                    self._wait(ends, deadline.left(), lambda: why)
                finally:
                    self._sends_waiting -= 1
            elif not done():
                if timeout is not None and dst not in self._lost:
                    return
                self.lose(dst, f"it took nothing for {self.patience} s of virtual time")
                raise PeerLost(dst, self._lost[dst].why)

    def _flush(self, world: ConnectedEnds[Any]) -> None:
        """Finish the messages that we have begun to send, and those that wait for their receiver, before we
        are gone.
        """
        if not (self.has_begin or self._is_limited):
            return  # none waits
        for peer in world.ends.values():
            if peer.strict is not None:
                peer.strict.flush(self)
            for message in [message for message in peer._offers if message.src is self]:
                peer._must_come(message)
