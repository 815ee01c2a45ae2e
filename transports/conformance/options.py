"""The options of a transport beyond the seven lines, as programs. Each runs where it is declared.

A transport declares an option in its class: it overrides the method, or sets the attribute. A check
whose option is not declared raises `NotOffered`, and the kit goes on. All ranks of a world have to
agree about what they offer.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from transports.conformance.bench import NotOffered, RankCheck, pattern
from transports.conformance.lines import drain, nothing_more
from transports.contract import Begun, Transport
from transports.errors import PeerLost

FETCHED = (0, 1, 16, 1000, 40, 8)  # bytes of the messages that are asked for
GIVEN_UP = 0.2  # seconds of `Transport.patience`


def declares(transport: Transport, *names: str) -> bool:
    """Whether the class of a transport says more about one of these names than the contract does."""
    kinds = type(transport).__mro__
    return any(name in vars(kind) for kind in kinds[: kinds.index(Transport)] for name in names)


def offered(desk: RankCheck, is_offered: bool, what: str) -> None:
    """Return if all ranks offer it, raise NotOffered if none does; all ranks come here."""
    desk.store.set(f"{what}/{desk.rank}", b"yes" if is_offered else b"no")
    keys = [f"{what}/{rank}" for rank in range(desk.world_size)]
    desk.store.wait(keys, 3 * desk.patience)
    said = [answer == b"yes" for answer in desk.store.multi_get(keys)]
    if not any(said):
        raise NotOffered
    ranks = [rank for rank, yes in enumerate(said) if yes]
    desk.demand(all(said), f"{what} is offered on the ranks {ranks} only; all ranks have to agree")


def _demand_declared(desk: RankCheck, *names: str) -> None:
    """NotOffered, if the class of the transport declares none of these."""
    if not declares(desk.transport, *names):
        raise NotOffered


def declared(desk: RankCheck) -> None:
    """A class declares something that makes sense, and the same on all ranks."""
    end = desk.transport
    desk.connect()
    flags = (
        "needs_virtual_time",
        "has_own_faults",
        "has_begin",
        "may_lose",
        "is_unreliable",
        "uses_board",
    )
    for name in flags:
        desk.demand(
            type(getattr(end, name)) is bool,
            f"{name} is {getattr(end, name)!r}, and not True or False",
        )
    desk.demand(
        bool(end.scheme) and end.scheme.islower(),
        f"the scheme {end.scheme!r} is no word in lower case",
    )
    desk.demand(
        end.ranks_are in ("threads", "processes", "mpi"),
        f"ranks_are is {end.ranks_are!r}; the contract knows threads, processes and mpi",
    )
    costs = end.costs
    desk.demand(
        costs is None or (costs.latency >= 0 and costs.bandwidth > 0 and costs.reduction >= 0),
        f"messages cannot have the costs {costs}",
    )
    desk.demand(end.usual_delay >= 0, f"usual_delay is {end.usual_delay}")
    desk.demand(
        end.clock.is_virtual or not end.needs_virtual_time,
        "needs_virtual_time is set, but connect took a clock of real time",
    )
    said = f"{end.scheme} {end.ranks_are} {costs} {end.usual_delay} " + " ".join(
        str(getattr(end, name)) for name in flags
    )
    desk.store.set(f"said/{desk.rank}", said)
    for peer in range(desk.world_size):
        desk.store.wait([f"said/{peer}"], 3 * desk.patience)
        other = desk.store.get(f"said/{peer}").decode()
        desk.demand(other == said, f"rank {peer} declares {other!r}, and this rank {said!r}")
    desk.meet("end")


def gives_up(desk: RankCheck) -> None:
    """`patience`: a send to a peer that takes nothing returns, or raises PeerLost in time."""
    if desk.world_size == 1:
        raise NotOffered
    desk.connect()
    deaf = desk.world_size - 1
    desk.meet("connected")
    if desk.rank == 0:
        desk.transport.patience = GIVEN_UP
        try:
            for turn in range(24):
                desk.send(deaf, turn, pattern(turn, 1_000_000))
        except PeerLost as lost:
            desk.demand(lost.rank == deaf, f"PeerLost names rank {lost.rank}, not {deaf}")
    desk.meet("end")


def fetch(desk: RankCheck) -> None:
    """`fetch`: the next message goes straight to its place, if it is the one that was asked for."""
    _demand_declared(desk, "fetch")
    desk.connect()
    dst, src = (desk.rank + 1) % desk.world_size, (desk.rank - 1) % desk.world_size
    came, take = 0, desk.transport.fetch

    def is_next() -> bool:
        return desk.tray.count(src) == came

    for turn, nbytes in enumerate(FETCHED):
        header, place = b"turn %d" % turn, bytearray(nbytes)
        desk.send(dst, turn, pattern(turn + desk.rank, nbytes), header)
        desk.meet(f"sent {turn}")
        wrong = {
            "a message was taken whose header begins with something else": take(
                src, b"now", memoryview(place), is_next
            ),
            "a message was put into a place of another size": take(
                src, b"turn", memoryview(bytearray(nbytes + 1)), is_next
            ),
            "a message was taken although is_next said no": take(
                src, b"turn", memoryview(place), lambda: False
            ),
        }
        for text, taken in wrong.items():
            desk.demand(taken is None, f"fetch: {text}")
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
    desk.meet("end")


def board(desk: RankCheck) -> None:
    """`board`: all see what one writes; `watch` waits for that, and delivers what comes meanwhile."""
    _demand_declared(desk, "board")
    desk.connect()
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
        desk.demand(
            shown.contents(peer, 1)[:nbytes] == pattern(peer, nbytes),
            f"rank {peer} wrote something else to its slot of the board than is seen here",
        )
    dst, src = (desk.rank + 1) % desk.world_size, (desk.rank - 1) % desk.world_size
    desk.send(dst, 0, b"beside the board")
    _watch(desk, lambda: desk.tray.count(src) == 1, f"a message from rank {src}")
    desk.beside(lambda: desk.transport.watch(0.01, lambda: False), "watch for 0.01 s")
    desk.meet("end")


def _watch(desk: RankCheck, done: Callable[[], bool], what: str) -> None:
    desk.beside(lambda: desk.transport.watch(desk.patience, done), f"watch for {what}")
    desk.demand(done(), f"watch returned, but {what} had not come")


def declined(desk: RankCheck) -> None:
    """`uses_board`: where one rank wants to see messages, nobody gets memory to go past them."""
    _demand_declared(desk, "board", "shared_objects")
    desk.transport.uses_board = desk.rank != desk.world_size - 1
    desk.connect()
    desk.demand(desk.transport.board() is None, "there is a board, though one rank declined it")
    desk.demand(
        desk.transport.shared_objects() is None,
        "there are shared objects, though one rank declined them",
    )
    desk.meet("end")


class _Shown:
    """Something that a rank shows to the others."""

    def __init__(self, rank: int) -> None:
        self.rank, self.seen_by = rank, list[int]()


def shared_objects(desk: RankCheck) -> None:
    """`shared_objects`: all ranks reach the same things, and what nobody keeps vanishes."""
    _demand_declared(desk, "shared_objects")
    desk.connect()
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
    desk.meet("end")


def begin(desk: RankCheck) -> None:
    """`begin`: it waits for nobody; when its message is over, the buffer is the caller's again."""
    _demand_declared(desk, "begin")
    desk.connect()
    offered(desk, desk.transport.has_begin, "begin")
    dst, src = (desk.rank + 1) % desk.world_size, (desk.rank - 1) % desk.world_size
    begun: list[Begun] = []
    sizes = (0, 10, 200_000)
    if desk.rank:  # one after the other: nobody waits in the transport, so nobody receives
        desk.wait_for(f"begun/{desk.rank - 1}")
    for turn, nbytes in enumerate(sizes):
        buffer = bytearray(pattern(turn + desk.rank, nbytes))
        header = b"%d" % turn
        desk.beside(
            lambda header=header, buffer=buffer: begun.append(  # type: ignore[misc]
                desk.transport.begin(dst, header, buffer)
            ),
            "begin",
        )
    desk.store.set(f"begun/{desk.rank}", b"")
    desk.meet("begun")
    for turn, (header, data) in enumerate(desk.receive(src, len(sizes))):
        desk.demand(header == b"%d" % turn, "messages that were begun came out of order")
        desk.demand(data == pattern(turn + src, sizes[turn]), "begin sent other bytes")
    for one in begun:
        desk.beside(lambda one=one: one.finish(None), "finish")  # type: ignore[misc]
        desk.demand(one.is_over(), "finish returned, but the message is not over")
    desk.meet("end")


def last_sent(desk: RankCheck) -> None:
    """`last_sent` and `under_way` tell of the last message to another rank, until it has landed."""
    _demand_declared(desk, "last_sent", "under_way")
    desk.connect()
    end = desk.transport
    for turn in range(3):
        for peer in desk.peers():
            sent = peer, b"%d" % turn
            end.send(*sent, pattern(turn, 5000 * turn))
            desk.demand(
                end.last_sent == sent or not declares(end, "last_sent"),
                f"the last message was {sent}, and last_sent is {end.last_sent}",
            )
            desk.demand(
                end.under_way in (None, sent),
                f"the last message was {sent}, and under_way is {end.under_way}",
            )
    for peer in desk.peers():
        desk.receive(peer, 3)
    desk.meet("received")
    desk.demand(end.under_way is None, f"all has landed, and under_way is {end.under_way}")
    desk.meet("end")


def lossy(desk: RankCheck) -> None:
    """`may_lose`, `is_unreliable`: messages may be missing or come twice, but never be damaged."""
    _demand_declared(desk, "may_lose", "is_unreliable")
    if not (desk.transport.may_lose or desk.transport.is_unreliable):
        raise NotOffered
    desk.connect()
    dst, src = (desk.rank + 1) % desk.world_size, (desk.rank - 1) % desk.world_size
    for turn in range(60):
        desk.transport.send(dst, b"%d" % turn, pattern(turn + desk.rank, 997 * turn))
    desk.meet("sent")
    drain(desk)
    for header, data in desk.tray.messages.get(src, []):
        turn = int(header)
        desk.demand(
            data == pattern(turn + src, 997 * turn),
            f"the {turn}th message from rank {src} came damaged; a transport may lose messages, but "
            "not change them",
        )
    desk.meet("end")
