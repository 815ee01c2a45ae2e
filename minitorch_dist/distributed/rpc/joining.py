"""Worlds without a size: workers join one after the other, call each other, and leave while others go on.

    joining    open ─► enter the roll ─► reach all who stand in it ─► HELLO to each: who I am, and how
               my devices are called there ─► all of them know us, and we know them: init_rpc returns
    leaving    wait for our own calls and functions ─► give references back ─► GOODBYE to each ─►
               struck from the roll

A name or a number can be given again when its worker has left, and when it has died: whoever comes
looks whether those in the roll are still there. Calls to one that is gone fail, and RRefs to its objects.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any, Final

from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.rpc import operations
from minitorch_dist.distributed.rpc.agent import Agent
from minitorch_dist.distributed.rpc.calls import RpcFuture
from minitorch_dist.distributed.rpc.errors import RpcError
from minitorch_dist.distributed.rpc.frames import Lost
from minitorch_dist.distributed.rpc.roll import Entry, Roll
from minitorch_dist.distributed.rpc.workers import WorkerInfo, Workers
from minitorch_dist.distributed.rpc.writing import DeviceNames
from transports.contract import Transport
from transports.errors import ConnectError
from transports.growing import ROOM, Growing
from transports.stores.store import Store

_log = logging.getLogger("minitorch_dist.distributed.rpc")
PATIENCE: Final = 30.0  # seconds for a worker of the roll to let us in, or to answer
KEY: Final = "membership"
LEFT: Final = "it has left"


WHY_NOT: Final = {
    "file": "its file has a ring for each pair of ranks from the start, and loses its name when all "
    "have it open",
    "mpi": "an MPI job has its ranks from the start",
}


def demand_growing(kind: Any) -> None:
    """RuntimeError if worlds over this transport cannot grow."""
    if not (isinstance(kind, type) and issubclass(kind, Growing)):
        scheme = getattr(kind, "scheme", kind)
        raise RuntimeError(
            f"workers cannot join one by one over {scheme}://: "
            f"{WHY_NOT.get(scheme, 'all ranks of a world meet at once there')}. Say how many there will "
            "be (world_size=…), or take tcp://, mqtt://, queue:// or sim://"
        )


class Membership:
    """One worker's place in such a world."""

    def __init__(self, agent: Agent, transport: Transport, store: Store) -> None:
        if not isinstance(transport, Growing):
            demand_growing(type(transport))
            raise AssertionError("demand_growing raises for whatever is not Growing")
        self._agent, self._transport, self._store = agent, transport, store
        self._roll = Roll(store)
        self._mine: Entry | None = None

    def join(self, maps: dict[str, dict[str, str]]) -> Workers:
        """Be reachable, and reach all; who they are. Nobody has heard of us yet."""
        agent, me = self._agent, self._agent.me
        agent.is_growing, agent.names = True, DeviceNames(me, maps)
        agent.first_number = (self._store.add("arrivals", 1) - 1) << 32
        card = self._transport.open(self._store, agent)
        self._mine, others = self._roll.enter(
            me.id, me.name, card, lambda entry: self._transport.is_there(entry.card)
        )
        met = [WorkerInfo(entry.name, entry.id) for entry in others if self._reaches(entry)]
        return Workers([me, *met])

    def _reaches(self, entry: Entry) -> bool:
        """Connect; False if nobody is there any more, who is then struck from the roll."""
        try:
            if self._transport.is_there(entry.card):
                self._transport.reach(entry.id, entry.card, PATIENCE)
                return True
        except ConnectError:
            if self._transport.is_there(entry.card):
                raise
        _log.info("%r is in the roll, but gone: struck", entry)
        self._roll.strike(entry)
        return False

    def greet(self) -> None:
        """Tell everybody that we are there."""
        agent = self._agent
        answers = [
            (info, self._say(info, operations.HELLO, (agent.me, agent.names.ours)))
            for info in agent.others()
        ]
        for info, answer in answers:
            try:
                agent.names.note(info, answer.wait())
            except DistError:
                if info.id not in agent.lost_workers:
                    raise

    def part(self) -> None:
        """Tell everybody that we leave."""
        answers = [self._say(info, operations.GOODBYE, None) for info in self._agent.others()]
        for answer in answers:
            with suppress(DistError):  # it has left itself
                answer.wait()

    def _say(self, to: WorkerInfo, operation: int, what: Any) -> RpcFuture[Any]:
        return self._agent.call(
            to, operation, lambda writer: writer.value(what), "init_rpc" if what else "shutdown",
            PATIENCE, is_system=True,
        )  # fmt: skip

    def strike(self) -> None:
        if self._mine is not None:
            with suppress(DistError, OSError):  # the store's master may have left first
                self._roll.strike(self._mine)

    def __repr__(self) -> str:
        return f"<Membership of {self._agent.me.name!r} in {self._roll!r}>"


def _hello(agent: Agent, src: int, said: Any) -> dict[str, dict[str, str]]:
    info, maps = said
    if not isinstance(info, WorkerInfo) or info.id != src or not agent.is_growing:
        raise RpcError(f"worker {src} says that it is {info!r}")
    agent.admit(info)
    agent.names.note(info, maps)
    return agent.names.ours


def _goodbye(agent: Agent, src: int, said: Any) -> None:
    agent.gone(Lost(src, LEFT))


operations.let_handle(operations.HELLO, _hello)
operations.let_handle(operations.GOODBYE, _goodbye)


def new_transport(kind: Any, rank: int, address: str, clock: Any) -> Transport:
    """A transport for a world that has no size."""
    demand_growing(kind)
    if not 0 <= rank < ROOM:
        raise RuntimeError(f"a worker's rank is 0 to {ROOM - 1}, but got {rank}")
    made: Transport = kind(rank, ROOM, address, clock)
    return made
