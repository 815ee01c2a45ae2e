"""Ranks meet at an MQTT broker: all connections go outward, so it works from behind any router.

    mtd/<run>/d/<dst>/<src>     frames from src to dst: messages in chunks, acknowledgements, beats
    mtd/<run>/p/<rank>          presence: retained, and replaced by the last will when a rank dies

    mqtt://host:port            a broker of yours (see `channel.address` for user, TLS, options)
    mqtt://                     the broker of the store, if it is an `MQTTStore`; else rank 0 starts
                                the embedded broker, for the ranks of one host (`channel.gathering`)

A message is cut into chunks (256 KB), each sealed with the job's key, numbered, and kept until its
receiver has it; so neither a broker that drops, repeats or forges nor one that is killed and
started again in the middle of a transfer changes what arrives. `transports.channel` says how.

What it costs: each byte crosses the broker and so the wire twice, and is copied and sealed on its
way. MQTT is for machines behind routers, on the edge, and for learning; between hosts that can
reach each other use tcp://. A mosquitto of your own wants these lines beside its listener:

    set_tcp_nodelay true            or ranks that are not on Linux get small messages 40 ms late
    persistence false               nothing of ours is worth keeping
    password_file /path             with the name and password that stand in the address
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transports import rendezvous
from transports.broker import launch
from transports.channel import address as addresses, frames, gathering
from transports.channel.exchange import CLOSED, Card, Exchange
from transports.channel.frames import Frame
from transports.channel.gathering import Ground
from transports.channel.newcomers import OpenExchange
from transports.channel.peers import Peer
from transports.clock import SYSTEM, Clock, Deadline
from transports.contract import Buffer, Inbox, Store, flat
from transports.errors import ConnectError, PeerLost, TransportClosed, TrustError
from transports.growing import Growing

WINDOW = 32  # chunks on their way to one peer
SHARED_WINDOW = 128  # chunks on their way to one rank from all: brokers drop beyond some hundreds
BATCH = 64  # chunks delivered before other threads have their turn
OPENING = 60.0  # seconds to find a broker, where ranks come one by one
HOP = 5.0  # of them for one embedded broker to let us in
LINGER = 10.0  # seconds for which close waits for a peer that acknowledges nothing


class MqttTransport(Growing):
    """One rank's end."""

    scheme = "mqtt"

    def __init__(
        self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM
    ) -> None:
        super().__init__(rank, world_size, address, clock)
        self._place = addresses.parse(self.address if "://" in self.address else "mqtt://")
        self._broker: launch.BrokerProcess | None = None
        self._exchange: Exchange | None = None
        self._changed = clock.condition()  # replaced by the exchange's
        self._inbox: Inbox | None = None
        self._driving = False
        self._deliveries = self._reported = 0
        self._state = "not connected"

    # -- connecting -------------------------------------------------------------------------

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        deadline = self.clock.deadline(timeout)
        ground, cards = gathering.meet(
            self.rank, self.world_size, self._place, store, self.clock, deadline
        )
        gathering.warn_if_in_clear(ground.place)
        window = max(2, min(WINDOW, SHARED_WINDOW // max(1, self.world_size - 1)))
        place, clock = ground.place, self.clock
        exchange = Exchange(self.rank, cards, ground.base, window, place, clock)
        self._begin(ground, exchange, inbox, deadline)

    def _begin(
        self, ground: Ground, exchange: Exchange, inbox: Inbox, deadline: Deadline
    ) -> None:  # fmt: skip
        """Be there, and wait for those who are known already."""
        self._inbox, self._exchange, self._broker = inbox, exchange, ground.broker
        self._changed = exchange.changed
        try:
            exchange.connection.start()
            self._join(exchange, deadline)
        except BaseException:
            exchange.connection.close()
            if ground.broker is not None:
                ground.broker.stop()
            self._exchange = self._broker = None
            raise
        self._state = "open"

    def _join(self, exchange: Exchange, deadline: Deadline) -> None:
        """Wait until the broker lets us in and every peer has answered us."""
        peers = exchange.peers.values()
        with exchange.changed:
            while not exchange.has_been_up or not all(peer.is_welcome for peer in peers):
                missing = [peer.rank for peer in peers if not peer.is_welcome]
                if exchange.refusal:
                    raise TrustError(exchange.refusal)
                if exchange.is_lost or (deadline.is_over() and not exchange.has_been_up):
                    raise ConnectError(
                        f"rank {self.rank} waited {deadline.elapsed():.1f} s: "
                        f"{exchange.why_away()}. Does a broker listen there?"
                    )
                silent = [peer for peer in peers if peer.lost is not None and not peer.is_welcome]
                if silent or deadline.is_over():
                    raise rendezvous.missed(
                        self.scheme, self.rank, self.world_size, missing, deadline.elapsed(),
                        f" through the broker at {exchange.address.shown}",
                    )  # fmt: skip
                exchange.changed.wait(deadline.left())

    # -- growing ----------------------------------------------------------------------------

    def open(self, store: Store, inbox: Inbox) -> str:
        mine, deadline = gathering.our_card(), self.clock.deadline(OPENING)
        while True:
            ground = gathering.ground(self._place, store)
            exchange = OpenExchange(self.rank, mine, ground.base, ground.place, self.clock)
            try:
                patience = self.clock.deadline(HOP) if ground.is_embedded else deadline
                self._begin(ground, exchange, inbox, patience)
                break
            except ConnectError:  # perhaps that broker has ended just now, with its last client
                if not ground.is_embedded or deadline.is_over():
                    raise
        gathering.warn_if_in_clear(ground.place)
        return f"{self.rank} {mine.mark:x} {mine.where}"

    def is_there(self, card: str) -> bool:
        rank, mark, _ = card.split(" ", 2)
        return self._open_exchange().is_there(int(rank), int(mark, 16))

    def reach(self, peer: int, card: str, timeout: float | None = None) -> None:
        _, mark, where = card.split(" ", 2)
        deadline = self.clock.deadline(timeout)
        self._open_exchange().reach(peer, Card(int(mark, 16), where), deadline)

    def _open_exchange(self) -> OpenExchange:
        exchange = self._exchange
        assert isinstance(exchange, OpenExchange), "open came first"
        return exchange

    # -- receiving --------------------------------------------------------------------------

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        deadline: Deadline | None = None
        seen: int | None = None
        while True:
            with self._changed:
                exchange = self._demand_open()
                if seen is None:
                    seen = self._reported if done is None else self._deliveries
                is_over = deadline is not None and deadline.is_over()
                if self._deliveries != seen or is_over or (done is not None and done()):
                    return self._report()
                if self._driving or not exchange.arrived:
                    if timeout == 0:
                        return self._report()
                    deadline = deadline or self.clock.deadline(timeout)
                    self._changed.wait(deadline.left())
                    continue
                batch = self._take(exchange)
            self._hand_over(exchange, batch)

    def _report(self) -> bool:
        found, self._reported = self._deliveries > self._reported, self._deliveries
        return found

    def _take(self, exchange: Exchange) -> list[tuple[Peer, Frame | None]]:
        """The turn, and what is to be delivered in it. Lock held."""
        self._driving = True
        return [exchange.arrived.popleft() for _ in range(min(BATCH, len(exchange.arrived)))]

    def _hand_over(self, exchange: Exchange, batch: list[tuple[Peer, Frame | None]]) -> None:
        """Write a batch into its sinks, then grant the senders new credit."""
        done = 0
        try:
            for peer, frame in batch:
                self._deliver(peer, frame)
                done += 1
        finally:
            with self._changed:
                if done < len(batch):  # interrupted: this message is torn, the others are not
                    exchange.lose(batch[done][0], "the delivery of a message was interrupted")
                    exchange.arrived.extendleft(reversed(batch[done + 1 :]))
                for peer, _ in batch[:done]:
                    if peer.is_alive:
                        peer.incoming.taken += 1
                        if peer.incoming.is_due():
                            exchange.say(peer, frames.ACK)
                self._end_turn(done)

    def _end_turn(self, deliveries: int) -> None:
        self._driving = False
        self._deliveries += deliveries
        self._changed.notify_all()

    def _deliver(self, peer: Peer, frame: Frame | None) -> None:
        inbox = self._inbox
        assert inbox is not None, "only a connected transport delivers"
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
            exchange = self._demand_open()
        if dst == self.rank:
            self._send_to_oneself(header, view)
            return
        peer = exchange.peers.get(dst)
        if peer is None and isinstance(exchange, OpenExchange):
            raise PeerLost(dst, "it has not come yet")
        if peer is None:
            raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
        flags, begun = frames.FIRST, False
        with peer.sending:
            try:
                for pieces in _chunks(header, view, exchange.address.chunk):
                    seq, acked, limit = self._await_room(exchange, peer)
                    sizes = (len(header), view.nbytes) if flags else (0, 0)
                    frame = Frame(
                        frames.DATA, self.rank, dst, exchange.mark, peer.mark, flags,
                        seq, acked, limit, *sizes,
                    )  # fmt: skip
                    data = frames.seal(exchange.key, frame, *pieces)
                    with self._changed:
                        self._demand_alive(peer)
                        exchange.push(peer, data)
                    flags, begun = 0, True
            except BaseException:
                if begun and self._state == "open":  # half a message cannot be taken back
                    with self._changed:
                        exchange.lose(peer, "a send to it was interrupted within a message")
                raise

    def _await_room(self, exchange: Exchange, peer: Peer) -> tuple[int, int, int]:
        """Deliver what arrives until the peer has room; the next frame's numbers."""
        deadline = self.clock.deadline(self.patience)
        while True:
            with self._changed:
                self._demand_open()
                self._demand_alive(peer)
                if peer.outgoing.has_room():
                    return peer.outgoing.next, *peer.incoming.tell()
                if deadline.is_over():
                    exchange.lose(peer, f"it took nothing for {self.patience} s")
                    self._demand_alive(peer)
                if self._driving or not exchange.arrived:
                    self._changed.wait(deadline.left())
                    continue
                batch = self._take(exchange)
            self._hand_over(exchange, batch)

    def _demand_alive(self, peer: Peer) -> None:
        if not peer.is_alive:
            raise PeerLost(peer.rank, CLOSED if peer.lost is None else peer.lost.reason)

    def _send_to_oneself(self, header: bytes, view: memoryview) -> None:
        with self._changed:
            self._demand_open()
            while self._driving:
                self._changed.wait()
                self._demand_open()
            self._driving = True
        try:
            assert self._inbox is not None, "only a connected transport sends"
            sink = self._inbox.sink(self.rank, header, view.nbytes)
            if view.nbytes:
                sink.write(view)
        finally:
            with self._changed:
                self._end_turn(1)

    def _demand_open(self) -> Exchange:
        if self._state != "open" or self._exchange is None:
            raise TransportClosed(f"the mqtt transport of rank {self.rank} is {self._state}")
        return self._exchange

    # -- closing ----------------------------------------------------------------------------

    def close(self) -> None:
        with self._changed:
            was_open, self._state = self._state == "open", "closed"
            if not was_open or self._exchange is None:
                return
            exchange = self._exchange
            exchange.is_leaving = True
            self._changed.notify_all()
            while self._driving:
                self._changed.wait()
            peers = list(exchange.peers.values())
        for peer in peers:
            self._say_goodbye(exchange, peer)
        self._linger(exchange)
        with self._changed:
            exchange.farewell()
        exchange.connection.close()
        if self._broker is not None:
            self._broker.release()

    def _say_goodbye(self, exchange: Exchange, peer: Peer) -> None:
        with peer.sending, self._changed:
            if peer.is_alive:
                acked, limit = peer.incoming.tell()
                frame = Frame(
                    frames.BYE, self.rank, peer.rank, exchange.mark, peer.mark, 0,
                    peer.outgoing.next, acked, limit,
                )  # fmt: skip
                exchange.push(peer, frames.seal(exchange.key, frame))

    def _linger(self, exchange: Exchange) -> None:
        """Wait until all living peers have what we sent them."""
        deadline, before = self.clock.deadline(LINGER), -1
        with self._changed:
            while True:
                waiting = sum(len(p.outgoing.unacknowledged) for p in exchange.peers.values())
                if waiting != before:
                    deadline, before = self.clock.deadline(LINGER), waiting
                if not waiting or deadline.is_over():
                    return
                self._changed.wait(deadline.left())

    def __repr__(self) -> str:
        exchange = self._exchange
        told = ""
        if exchange is not None:
            peers = list(exchange.peers.values())
            lost = [peer.rank for peer in peers if peer.lost is not None]
            told = f" through {exchange.connection!r}" + (f", lost {lost}" if lost else "")
            told += f", dropped {dict(exchange.dropped)}" if exchange.dropped else ""
        return f"<MqttTransport rank {self.rank} of {self.world_size}, {self._state}{told}>"


def _chunks(header: bytes, view: memoryview, size: int) -> Iterator[tuple[memoryview | bytes, ...]]:
    """The bodies of a message's frames: the first begins with its header."""
    first = size - len(header)
    yield header, view[:first]
    for start in range(first, view.nbytes, size):
        yield (view[start : start + size],)
