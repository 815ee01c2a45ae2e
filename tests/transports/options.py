"""Programs that try the options of a transport beyond the seven lines of the contract; each runs where it is declared.

A transport declares an option in its class: it overrides the method, or sets the attribute. A check of something that
all ranks decline raises `NotOffered`. All ranks of a world have to agree about what they offer.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial

from transports.conformance import End
from transports.conformance.bench import RankCheck, pattern
from transports.conformance.lines import nothing_more
from transports.contract import Begun, Transport
from transports.costs import MessageCosts
from transports.errors import PeerLost

FETCHED = (0, 1, 16, 1000, 40, 8)  # bytes of the messages that are asked for
GIVEN_UP = 0.2  # seconds of `Transport.patience`


class NotOffered(Exception):
    """The transport does not declare what this check tries."""


class Option:
    """One check, to be launched on all ranks; the result of each is its complaint, or "". Can be pickled."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, end: End) -> str:
        desk = RankCheck(end, 15.0)
        names, act = OPTIONS[self.name]
        try:
            if names and not declares(desk.transport, *names):
                return ""
            if self.name != "declined":
                desk.connect()
            act(desk)
            desk.meet("end")
        except NotOffered:
            pass
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        finally:
            desk.transport.close()
        return "; ".join(desk.tray.complaints)


def declares(transport: Transport, *names: str) -> bool:
    """Whether the class of a transport says more about one of these names than the contract does."""
    kinds = type(transport).__mro__
    return any(name in vars(kind) for kind in kinds[: kinds.index(Transport)] for name in names)


def said_by_all(desk: RankCheck, what: str, word: bytes) -> list[bytes]:
    """The words of all ranks on this matter, once each has said its own."""
    keys = [f"{what}/{rank}" for rank in range(desk.world_size)]
    desk.store.set(keys[desk.rank], word)
    desk.store.wait(keys, 3 * desk.patience)
    return desk.store.multi_get(keys)


def offered(desk: RankCheck, is_offered: bool, what: str) -> None:
    """Return if all ranks offer it, raise NotOffered if none does; all ranks come here."""
    ranks = [rank for rank, yes in enumerate(said_by_all(desk, what, b"%d" % is_offered)) if yes == b"1"]
    if not ranks:
        raise NotOffered
    is_everybody = len(ranks) == desk.world_size
    desk.demand(is_everybody, f"{what} is offered on the ranks {ranks} only; all ranks have to agree")


FLAGS = ("needs_virtual_time", "has_begin", "may_lose", "is_unreliable", "uses_board")


def declared(desk: RankCheck) -> None:
    """A class declares something that makes sense, and the same on all ranks."""
    end, costs = desk.transport, desk.transport.costs or MessageCosts(0, 1)
    flags = {name: getattr(end, name) for name in FLAGS}
    for name, value in flags.items():
        desk.demand(type(value) is bool, f"{name} is {value!r}, and not True or False")
    desk.demand(end.scheme.islower(), f"the scheme {end.scheme!r} is no word in lower case")
    is_kind = end.ranks_are in ("threads", "processes", "mpi")
    desk.demand(is_kind, f"ranks_are is {end.ranks_are!r}; the contract knows threads, processes and mpi")
    makes_sense = costs.latency >= 0 and costs.bandwidth > 0 and costs.reduction >= 0
    desk.demand(makes_sense, f"messages cannot have the costs {costs}")
    desk.demand(end.usual_delay >= 0, f"usual_delay is {end.usual_delay}")
    is_timely = end.clock.is_virtual or not end.needs_virtual_time
    desk.demand(is_timely, "needs_virtual_time is set, but connect took a clock of real time")
    said = f"{end.scheme} {end.ranks_are} {end.costs} {end.usual_delay} {flags}"
    for peer, other in enumerate(map(bytes.decode, said_by_all(desk, "declared", said.encode()))):
        desk.demand(other == said, f"rank {peer} declares {other!r}, and this rank {said!r}")


def gives_up(desk: RankCheck) -> None:
    """`patience`: a send to a peer that takes nothing returns, or raises PeerLost in time."""
    if desk.world_size == 1:
        raise NotOffered
    deaf = desk.world_size - 1
    desk.meet("connected")
    if desk.rank == 0:
        desk.transport.patience = GIVEN_UP
        try:
            for turn in range(24):
                desk.send(deaf, turn, pattern(turn, 1_000_000))
        except PeerLost as lost:
            desk.demand(lost.rank == deaf, f"PeerLost names rank {lost.rank}, not {deaf}")


def fetch(desk: RankCheck) -> None:
    """`fetch`: the next message goes straight to its place, if it is the one that was asked for."""
    dst, src = desk.right, desk.left
    came, take = 0, desk.transport.fetch

    def is_next() -> bool:
        return desk.tray.count(src) == came

    for turn, nbytes in enumerate(FETCHED):
        header, place = b"turn %d" % turn, bytearray(nbytes)
        desk.send(dst, turn, pattern(turn + desk.rank, nbytes), header)
        desk.meet(f"sent {turn}")
        for text, front, size, asks in (
            ("whose header begins with something else", b"now", nbytes, is_next),
            ("into a place of another size", b"turn", nbytes + 1, is_next),
            ("although is_next said no", b"turn", nbytes, lambda: False),
        ):
            taken = take(src, front, memoryview(bytearray(size)), asks)
            desk.demand(taken is None, f"fetch: a message was taken {text}")
        got, data = take(src, b"turn", memoryview(place), is_next), place
        if got is None:  # it will be delivered
            got, data = desk.receive(src, came + 1)[came]
            came += 1
        desk.demand(
            got == header and data == pattern(turn + src, nbytes),
            f"fetch: message {turn} from rank {src} came as {got!r} with {len(data)} bytes, and its "
            f"header was {header!r}; or it came with other bytes than were sent",
        )
    desk.meet("fetched")
    nothing_more(desk, {src: came} if came else {})


def board(desk: RankCheck) -> None:
    """`board`: all see what one writes; `watch` waits for that, and delivers what comes meanwhile."""
    shown = desk.transport.board()
    offered(desk, shown is not None, "a board")
    assert shown is not None, "all ranks have one"
    nbytes = min(1000, shown.room)
    shown.contents(desk.rank, 1)[:nbytes] = pattern(desk.rank, nbytes)
    if shown.fence is not None:
        shown.fence()
    shown.words[shown.ready(desk.rank)] = 1
    for peer in range(desk.world_size):
        word = shown.ready(peer)
        _watch(desk, lambda word=word: shown.words[word] == 1, f"rank {peer}'s word")  # type: ignore[misc]
        is_seen = shown.contents(peer, 1)[:nbytes] == pattern(peer, nbytes)
        desk.demand(is_seen, f"rank {peer} wrote something else to its slot of the board than is seen here")
    dst, src = desk.right, desk.left
    desk.send(dst, 0, b"beside the board")
    _watch(desk, lambda: desk.tray.count(src) == 1, f"a message from rank {src}")
    desk.beside(lambda: desk.transport.watch(0.01, lambda: False), "watch for 0.01 s")


def _watch(desk: RankCheck, done: Callable[[], bool], what: str) -> None:
    desk.beside(lambda: desk.transport.watch(desk.patience, done), f"watch for {what}")
    desk.demand(done(), f"watch returned, but {what} had not come")


def declined(desk: RankCheck) -> None:
    """`uses_board`: where one rank wants to see messages, nobody gets memory to go past them."""
    desk.transport.uses_board = desk.rank != desk.world_size - 1
    desk.connect()
    end = desk.transport
    desk.demand(end.board() is None, "there is a board, though one rank declined it")
    desk.demand(end.shared_objects() is None, "there are shared objects, though one rank declined them")


class _Shown:
    """Something that a rank shows to the others."""

    def __init__(self, rank: int) -> None:
        self.rank, self.seen_by = rank, list[int]()


def shared_objects(desk: RankCheck) -> None:
    """`shared_objects`: all ranks reach the same things, and what nobody keeps vanishes."""
    shared = desk.transport.shared_objects()
    offered(desk, shared is not None, "a place for shared objects")
    assert shared is not None, "all ranks have one"
    mine = shared[desk.rank] = _Shown(desk.rank)
    desk.meet("shown")
    for peer in range(desk.world_size):
        found = shared.get(peer)
        desk.demand(found is not None, f"what rank {peer} shows is not seen here")
        assert isinstance(found, _Shown), "nothing else was shown"
        found.seen_by.append(desk.rank)
        del found
    desk.meet("seen")
    everybody = list(range(desk.world_size))
    desk.demand(sorted(mine.seen_by) == everybody, "others see another object than the one shown")
    del mine
    gc.collect()
    desk.meet("gone")
    desk.demand(not shared, "what nobody keeps elsewhere is still among the shared objects")


def begin(desk: RankCheck) -> None:
    """`begin`: it waits for nobody; when its message is over, the buffer is the caller's again."""
    offered(desk, desk.transport.has_begin, "begin")
    dst, src = desk.right, desk.left
    begun: list[Begun] = []
    sizes = (0, 10, 200_000)
    if desk.rank:  # one after the other: nobody waits in the transport, so nobody receives
        desk.wait_for(f"begun/{desk.rank - 1}")
    for turn, nbytes in enumerate(sizes):
        buffer = bytearray(pattern(turn + desk.rank, nbytes))
        begun.append(desk.beside(partial(desk.transport.begin, dst, b"%d" % turn, buffer), "begin"))
    desk.store.set(f"begun/{desk.rank}", b"")
    desk.meet("begun")
    for turn, (header, data) in enumerate(desk.receive(src, len(sizes))):
        desk.demand(header == b"%d" % turn, "messages that were begun came out of order")
        desk.demand(data == pattern(turn + src, sizes[turn]), "begin sent other bytes")
    for one in begun:
        desk.beside(partial(one.finish, None), "finish")
        desk.demand(one.is_over(), "finish returned, but the message is not over")


def last_sent(desk: RankCheck) -> None:
    """`last_sent` and `under_way` tell of the last message to another rank, until it has landed."""
    end = desk.transport
    for turn in range(3):
        for peer in desk.peers():
            sent = peer, b"%d" % turn
            end.send(*sent, pattern(turn, 5000 * turn))
            is_told = end.last_sent == sent or not declares(end, "last_sent")
            desk.demand(is_told, f"the last message was {sent}, and last_sent is {end.last_sent}")
            is_known = end.under_way in (None, sent)
            desk.demand(is_known, f"the last message was {sent}, and under_way is {end.under_way}")
    for peer in desk.peers():
        desk.receive(peer, 3)
    desk.meet("received")
    desk.demand(end.under_way is None, f"all has landed, and under_way is {end.under_way}")


OPTIONS: dict[str, tuple[tuple[str, ...], Callable[[RankCheck], None]]] = {
    "declared": ((), declared),
    "gives_up": ((), gives_up),
    "fetch": (("fetch",), fetch),
    "board": (("board",), board),
    "declined": (("board", "shared_objects"), declined),
    "shared_objects": (("shared_objects",), shared_objects),
    "begin": (("begin",), begin),
    "last_sent": (("last_sent", "under_way"), last_sent),
}  # each with what a class may declare; if it declares none of that, the check is not run
