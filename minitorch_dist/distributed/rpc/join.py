"""Workers that join one by one: a world without a size.

    joining    open ─► enter the list ─► connect to all workers in it ─► HELLO to each ─► they know us,
               we know them: init_rpc returns
    leaving    wait for our own calls and functions ─► give references back ─► GOODBYE to each ─►
               strike our entry

The list of members is one value in the store, and each change replaces it as a whole:

    enter    old ─► old + us         by one compare_set; we connect to the workers in `old`
    strike   old ─► old - a worker   a worker strikes itself as it leaves, and others if they are dead

Of two workers that enter at the same moment, one is later, and it connects to the earlier one. Nobody holds
a lock, so no worker can die with one. A name or a number is free again when its worker has left or died.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed.exceptions import DistError, RpcError
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import RpcAgent
from minitorch_dist.distributed.rpc.call import RpcFuture
from minitorch_dist.distributed.rpc.members import DeviceNames, WorkerInfo, WorkerTable
from minitorch_dist.distributed.rpc.message import LostNotice
from transports.contract import Transport
from transports.errors import ConnectError, Lost
from transports.joinable import ROOM, JoinableTransport
from transports.stores.store import Store

_log = logging.getLogger("minitorch_dist.distributed.rpc")
ENTRIES: Final = "roll"  # the list's key in the store


class MemberEntry(NamedTuple):
    """One worker in the list. A worker that comes again has another mark."""

    id: int
    name: str
    card: str  # tells the transport where to reach it
    mark: str

    def __repr__(self) -> str:
        return f"<{self.name!r}, rank {self.id}>"


class MemberList:
    """The workers of a world that has no size: a list in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def entries(self) -> list[MemberEntry]:
        return _read_entries(self._store.compare_set(ENTRIES, "", "[]"))

    def enter(
        self, id: int, name: str, card: str, is_there: Callable[[MemberEntry], bool]
    ) -> tuple[MemberEntry, list[MemberEntry]]:
        """Our entry, and the entries from before. A dead worker's entry with our name or number is struck.

        RuntimeError, in torch's words, if a worker that lives has the name or the number.
        """
        mine = MemberEntry(id, name, card, os.urandom(8).hex())
        while True:
            known = self._store.compare_set(ENTRIES, "", "[]")
            others = _read_entries(known)
            for other in others:
                if (other.id == id or other.name == name) and is_there(other):
                    raise RuntimeError(_taken(mine, other))
            others = [other for other in others if other.id != id and other.name != name]
            wanted = _written([*others, mine])
            if self._store.compare_set(ENTRIES, known, wanted) == wanted:
                return mine, others

    def strike(self, entry: MemberEntry) -> None:
        while True:
            known = self._store.compare_set(ENTRIES, "", "[]")
            left = [other for other in _read_entries(known) if other.mark != entry.mark]
            wanted = _written(left)
            if known == wanted or self._store.compare_set(ENTRIES, known, wanted) == wanted:
                return

    def __repr__(self) -> str:
        return f"<MemberList in {self._store!r}>"


def _taken(mine: MemberEntry, other: MemberEntry) -> str:
    if other.name == mine.name:
        return (
            f"RPC worker name {mine.name} is not unique. Workers {mine.id} and {other.id} share the "
            "same name."
        )
    return (
        f"RPC worker id {mine.id} is not unique. Workers {mine.name} and {other.name} share the same "
        "id."
    )


def _read_entries(text: bytes) -> list[MemberEntry]:
    return [MemberEntry(*entry) for entry in json.loads(text)]


def _written(entries: list[MemberEntry]) -> bytes:
    listed: list[list[Any]] = [list(entry) for entry in entries]
    return json.dumps(listed).encode()


PATIENCE: Final = 30.0  # seconds for a worker in the list to let us in, or to answer
LEFT: Final = Lost("left", "it has left")


def demand_growing(kind: Any) -> None:
    """RuntimeError if worlds over this transport cannot grow."""
    if not (isinstance(kind, type) and issubclass(kind, JoinableTransport)):
        scheme = getattr(kind, "scheme", kind)
        why_not = getattr(kind, "why_not_joinable", Transport.why_not_joinable)
        raise RuntimeError(
            f"workers cannot join one by one over {scheme}://: {why_not}. Say how many there will "
            "be (world_size=…), or take tcp://, mqtt://, queue:// or sim://"
        )


class Membership:
    """One worker in a world that has no size: how it joins and how it leaves."""

    def __init__(self, agent: RpcAgent, transport: Transport, store: Store) -> None:
        if not isinstance(transport, JoinableTransport):
            demand_growing(type(transport))
            raise AssertionError("demand_growing raises for all others")
        self._agent, self._transport, self._store = agent, transport, store
        self._members = MemberList(store)
        self._mine: MemberEntry | None = None

    def join(self, maps: dict[str, dict[str, str]]) -> WorkerTable:
        """Enter the list and connect to all workers in it. They do not know us before `greet`."""
        agent, me = self._agent, self._agent.me
        agent.is_growing, agent.names = True, DeviceNames(me, maps)
        agent.first_number = (self._store.add("arrivals", 1) - 1) << 32
        card = self._transport.open(self._store, agent)
        self._mine, others = self._members.enter(
            me.id, me.name, card, lambda entry: self._transport.is_there(entry.card)
        )
        met = [WorkerInfo(entry.name, entry.id) for entry in others if self._reaches(entry)]
        return WorkerTable([me, *met])

    def _reaches(self, entry: MemberEntry) -> bool:
        """Connect to a worker. If it is gone, its entry is struck, and the result is False."""
        try:
            if self._transport.is_there(entry.card):
                self._transport.reach(entry.id, entry.card, PATIENCE)
                return True
        except ConnectError:
            if self._transport.is_there(entry.card):
                raise
        _log.info("%r is in the list, but gone: struck", entry)
        self._members.strike(entry)
        return False

    def greet(self) -> None:
        """Tell all workers our name and our devices' names."""
        agent = self._agent
        answers = [
            (info, self._say(info, serve.HELLO, (agent.me, agent.names.ours)))
            for info in agent.others()
        ]
        for info, answer in answers:
            try:
                agent.names.note(info, answer.wait())
            except DistError:
                if info.id not in agent.lost_workers:
                    raise

    def say_goodbye(self) -> None:
        """Tell all workers that we leave."""
        answers = [self._say(info, serve.GOODBYE, None) for info in self._agent.others()]
        for answer in answers:
            with suppress(DistError):  # it has left itself
                answer.wait()

    def _say(self, to: WorkerInfo, operation: int, what: Any) -> RpcFuture[Any]:
        doing = "init_rpc" if what else "shutdown"
        return self._agent.ask(to, operation, what, doing, PATIENCE)

    def strike(self) -> None:
        """Take our entry out of the list."""
        if self._mine is not None:
            with suppress(DistError, OSError):  # the store's master may have left first
                self._members.strike(self._mine)

    def __repr__(self) -> str:
        return f"<Membership of {self._agent.me.name!r} in {self._members!r}>"


def _hello(agent: RpcAgent, src: int, asked: Any) -> dict[str, dict[str, str]]:
    info, maps = asked
    if not isinstance(info, WorkerInfo) or info.id != src or not agent.is_growing:
        raise RpcError(f"worker {src} says that it is {info!r}")
    agent.admit(info)
    agent.names.note(info, maps)
    return agent.names.ours


def _goodbye(agent: RpcAgent, src: int, asked: Any) -> None:
    agent.arrived.append(LostNotice(src, LEFT))


serve.let_handle(serve.HELLO, _hello)
serve.let_handle(serve.GOODBYE, _goodbye)


def new_transport(kind: Any, rank: int, address: str, clock: Any) -> Transport:
    """A transport for a world that has no size."""
    demand_growing(kind)
    if not 0 <= rank < ROOM:
        raise RuntimeError(f"a worker's rank is 0 to {ROOM - 1}, but got {rank}")
    made: Transport = kind(rank, ROOM, address, clock)
    return made
