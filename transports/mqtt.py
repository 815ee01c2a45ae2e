"""Ranks meet at an MQTT broker: all connections go outward, so it works from behind any router.

    mtd/<run>/d/<dst>/<src>     frames from src to dst: messages in chunks, acknowledgements, beats
    mtd/<run>/p/<rank>          presence: retained, and replaced by the last will when a rank dies

    mqtt://host:port            a broker of yours (see `mqtt_protocol.address` for user, TLS, options)
    mqtt://                     the broker of the store, if it is an `MQTTStore`; else rank 0 starts
                                the embedded broker, for the ranks of one host (`mqtt_protocol.run_location`)

A message is cut into chunks (256 KB), each sealed with the job's key, numbered, and kept until its
receiver has it; so neither a broker that drops, repeats or forges nor one that is killed and
started again in the middle of a transfer changes what arrives. `transports.mqtt_protocol` says how.

This has a cost: each byte crosses the broker and so the wire twice, and is copied and sealed on its way.
MQTT is for machines behind routers, on the edge, and for learning; between hosts that can reach each other
use tcp://. A mosquitto of your own wants these lines beside its listener:

    set_tcp_nodelay true            or ranks that are not on Linux get small messages 40 ms late
    persistence false               nothing of ours is worth keeping
    password_file /path             with the name and password that stand in the address
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transports import rendezvous
from transports.broker import launch
from transports.clock import SYSTEM, Clock, Deadline
from transports.contract import Buffer, Inbox, Store, WireTransport, flat
from transports.costs import MessageCosts
from transports.errors import CLOSED, ConnectError, PeerLost, TrustError
from transports.mqtt_protocol import address as addresses, frames, run_location
from transports.mqtt_protocol.frames import Frame
from transports.mqtt_protocol.peer_table import PeerTable
from transports.mqtt_protocol.peers import Peer

WINDOW = 32  # chunks on their way to one peer
SHARED_WINDOW = 128  # chunks on their way to one rank from all: brokers drop beyond some hundreds
BATCH = 64  # chunks delivered before other threads have their turn
LINGER = 10.0  # seconds for which close waits for a peer that acknowledges nothing


class MqttTransport(WireTransport):
    """One rank's end."""

    scheme = "mqtt"
    costs = MessageCosts(800e-6, 150e6)
    usual_delay = 2.0
    _inbox: Inbox  # once it is open
    _peer_table: PeerTable

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, address, clock)
        self._place = addresses.parse(self.address if "://" in self.address else "mqtt://")
        self._broker: launch.BrokerProcess | None = None
        self._changed = clock.condition()  # replaced by the exchange's
        self._driving = False
        self._torn: Peer | None = None  # whose frame is being delivered, or was broken off

    # -- connecting -------------------------------------------------------------------------

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        deadline = self.clock.deadline(timeout)
        location, cards = run_location.meet(self.rank, self.world_size, self._place, store, self.clock, deadline)
        run_location.warn_if_in_clear(location.place)
        window = max(2, min(WINDOW, SHARED_WINDOW // max(1, self.world_size - 1)))
        peer_table = PeerTable(self.rank, cards, location.base, window, location.place, self.clock)
        self._inbox, self._peer_table, self._broker = inbox, peer_table, location.broker
        self._changed = peer_table.changed
        try:
            peer_table.connection.start()
            self._join(peer_table, deadline)
        except BaseException:
            peer_table.connection.close()
            if location.broker is not None:
                location.broker.stop()
            self._broker = None
            raise
        self._state = "open"

    def _join(self, peer_table: PeerTable, deadline: Deadline) -> None:
        """Wait until the broker lets us in and every peer has answered us."""
        peers = peer_table.peers.values()
        with peer_table.changed:
            while not peer_table.has_been_up or not all(peer.is_welcome for peer in peers):
                missing = [peer.rank for peer in peers if not peer.is_welcome]
                if peer_table.refusal:
                    raise TrustError(peer_table.refusal)
                is_vain = peer_table.connection.is_vain() or (deadline.is_over() and not peer_table.has_been_up)
                if peer_table.is_lost or is_vain:
                    raise ConnectError(
                        f"rank {self.rank} waited {deadline.elapsed():.1f} s: "
                        f"{peer_table.why_away()}. {peer_table.connection.why_vain()}"
                    )
                silent = [peer for peer in peers if peer.lost is not None and not peer.is_welcome]
                if silent or deadline.is_over():
                    seconds, why = deadline.elapsed(), f" through the broker at {peer_table.address.shown}"
                    raise rendezvous.missed(self.scheme, self.rank, self.world_size, missing, seconds, why)
                peer_table.changed.wait(deadline.left())

    # -- receiving --------------------------------------------------------------------------

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        deadline: Deadline | None = None
        seen: int | None = None
        while True:
            with self._changed:
                peer_table = self._opened()
                if seen is None:
                    seen = self._reported if done is None else self._deliveries
                is_over = deadline is not None and deadline.is_over()
                if self._deliveries != seen or is_over or (done is not None and done()):
                    return self._report()
                if self._driving or not (peer_table.arrived or self._torn):
                    if timeout == 0:
                        return self._report()
                    deadline = deadline or self.clock.deadline(timeout)
                    self._changed.wait(deadline.left())
                    continue
            self._drive(peer_table)

    def _drive(self, peer_table: PeerTable) -> None:
        """Deliver some of what has arrived, unless another thread is at it, and grant new credit.

        If this is interrupted, the frame that was being delivered is torn, and the others are not. An
        interrupt comes between two calls, so the turn is given back before anything is called. From then on
        another thread may deliver, so the next driver settles what was torn.
        """
        is_ours, served = False, set[Peer]()
        try:
            with self._changed:
                if self._driving:
                    return
                is_ours = self._driving = True
                self._settle(peer_table)
            self._hand_over(peer_table, served)
        finally:
            if is_ours:
                self._driving = False
                with self._changed:
                    for peer in served:
                        if peer.is_alive and peer.incoming.is_due():
                            peer_table.say(peer, frames.ACK)
                    self._changed.notify_all()

    def _hand_over(self, peer_table: PeerTable, served: set[Peer]) -> None:
        """Write a batch into its sinks. A frame stays in the row until it is delivered."""
        arrived = peer_table.arrived
        for _ in range(min(BATCH, len(arrived))):
            peer, frame = arrived[0]
            self._torn = peer
            self._deliver(peer, frame)
            arrived.popleft()
            self._torn = None
            self._deliveries += 1
            peer.incoming.taken += 1
            served.add(peer)

    def _settle(self, peer_table: PeerTable) -> None:
        """Give up the peer whose frame was torn, and forget what it sent behind that. Lock held."""
        torn = self._torn
        if torn is not None:
            peer_table.lose(torn, "the delivery of a message was interrupted")
            kept = [
                (peer, frame)
                for peer, frame in peer_table.arrived
                if peer is not torn or frame is None or frame.kind == frames.BYE
            ]
            peer_table.arrived.clear()
            peer_table.arrived.extend(kept)
            self._torn = None

    def _deliver(self, peer: Peer, frame: Frame | None) -> None:
        inbox = self._inbox
        if frame is None:
            assert peer.lost is not None, "this mark follows the loss"
            inbox.lost(peer.rank, peer.lost)
        elif frame.kind == frames.BYE:
            peer.lost = PeerLost(peer.rank, CLOSED)
            inbox.lost(peer.rank, peer.lost)
        else:
            piece = frame.body
            if frame.flags & frames.FIRST:
                header = bytes(piece[: frame.header_length])
                peer.sink = inbox.sink(peer.rank, header, frame.total)
                piece = piece[frame.header_length :]
            if piece:
                assert peer.sink is not None, "a message begins with FIRST: see Peer.announce"
                peer.sink.write(piece)

    # -- sending ----------------------------------------------------------------------------

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        view = flat(header, payload)
        with self._changed:
            peer_table = self._opened()
        if dst == self.rank:
            self._send_to_oneself(peer_table, header, view)
            return
        peer = peer_table.peers.get(dst)
        if peer is None:
            raise self._no_rank(dst)
        flags, begun = frames.FIRST, False
        with peer.sending:
            try:
                for pieces in _chunks(header, view, peer_table.address.chunk):
                    numbers = self._await_room(peer_table, peer)
                    sizes = (len(header), view.nbytes) if flags else (0, 0)
                    frame = peer_table.frame(frames.DATA, peer, flags, *numbers, *sizes)
                    data = frames.seal(peer_table.key, frame, *pieces)
                    with self._changed:
                        self._demand_alive(peer)
                        peer_table.push(peer, data)
                    flags, begun = 0, True
            except BaseException:
                if begun and self._state == "open":  # half a message cannot be taken back
                    with self._changed:
                        peer_table.lose(peer, "a send to it was interrupted within a message")
                raise

    def _await_room(self, peer_table: PeerTable, peer: Peer) -> tuple[int, int, int]:
        """Deliver what arrives until the peer has room; the next frame's numbers."""
        deadline = self.clock.deadline(self.patience)
        while True:
            with self._changed:
                self._demand_open()
                self._demand_alive(peer)
                if peer.outgoing.has_room():
                    return peer.outgoing.next, *peer.incoming.tell()
                if deadline.is_over():
                    peer_table.lose(peer, f"it took nothing for {self.patience} s")
                    self._demand_alive(peer)
                if self._driving or not (peer_table.arrived or self._torn):
                    self._changed.wait(deadline.left())
                    continue
            self._drive(peer_table)

    def _demand_alive(self, peer: Peer) -> None:
        if not peer.is_alive:
            raise PeerLost(peer.rank, CLOSED if peer.lost is None else peer.lost.why)

    def _send_to_oneself(self, peer_table: PeerTable, header: bytes, view: memoryview) -> None:
        """It takes its place behind what has arrived."""
        me = peer_table.oneself
        frame = peer_table.frame(frames.DATA, me, frames.FIRST, 0, 0, 0, len(header), view.nbytes)
        frame = frame._replace(body=memoryview(header + view))
        with self._changed:
            self._demand_open()
            self._demand_alive(me)
            peer_table.arrived.append((me, frame))
            self._changed.notify_all()

    def _opened(self) -> PeerTable:
        self._demand_open()
        return self._peer_table

    # -- closing ----------------------------------------------------------------------------

    def close(self) -> None:
        with self._changed:
            was_open, self._state = self._state == "open", "closed"
            if not was_open:
                return
            peer_table = self._peer_table
            peer_table.is_leaving = True
            self._changed.notify_all()
            while self._driving:
                self._changed.wait()
            peers = list(peer_table.peers.values())
        for peer in peers:
            self._say_goodbye(peer_table, peer)
        self._linger(peer_table)
        with self._changed:
            peer_table.farewell()
        peer_table.connection.close()
        if self._broker is not None:
            self._broker.release()

    def _say_goodbye(self, peer_table: PeerTable, peer: Peer) -> None:
        with peer.sending, self._changed:
            if peer.is_alive:
                frame = peer_table.frame(frames.BYE, peer, 0, peer.outgoing.next, *peer.incoming.tell())
                peer_table.push(peer, frames.seal(peer_table.key, frame))

    def _linger(self, peer_table: PeerTable) -> None:
        """Wait until all living peers have what we sent them."""
        deadline, before = self.clock.deadline(LINGER), -1
        with self._changed:
            while True:
                waiting = sum(len(p.outgoing.unacknowledged) for p in peer_table.peers.values())
                if waiting != before:
                    deadline, before = self.clock.deadline(LINGER), waiting
                if not waiting or deadline.is_over():
                    return
                self._changed.wait(deadline.left())


def _chunks(header: bytes, view: memoryview, size: int) -> Iterator[tuple[memoryview | bytes, ...]]:
    """The bodies of a message's frames: the first begins with its header."""
    first = size - len(header)
    yield header, view[:first]
    for start in range(first, view.nbytes, size):
        yield (view[start : start + size],)
