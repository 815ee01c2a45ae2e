"""Workers meet by calls alone: each gives an object, and all get all of them.

    everybody ──(GATHER, names, number, object)──► the worker with the smallest name
              ◄── {name: object} ───────────────── as soon as all have come

Workers that gather among the same names count how often, so two gatherings never mix. torch hides
these behind an underscore; libraries (PyTorch Geometric's loaders, for one) use them all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Final

from minitorch_dist.distributed.rpc import operations
from minitorch_dist.distributed.rpc.agent import Agent, current
from minitorch_dist.distributed.rpc.calls import RpcFuture
from minitorch_dist.distributed.rpc.constants import UNSET_RPC_TIMEOUT
from minitorch_dist.distributed.rpc.errors import RpcTimeout, WorkerLost
from minitorch_dist.distributed.rpc.options import seconds_of
from minitorch_dist.distributed.rpc.serving import Later

KEY: Final = "gatherings"
PATIENCE: Final = 5.0  # seconds to hear who is missing
Which = tuple[tuple[str, ...], int]  # the names, and how often these have gathered before


class Gatherings:
    """One worker's: those it has come to, and those it keeps for others."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.visits: Counter[tuple[str, ...]] = Counter()
        self._open: dict[Which, tuple[dict[str, Any], RpcFuture[Any]]] = {}
        agent.extras[KEY] = self
        agent.extras.setdefault("when_lost", []).append(self._lost)

    def come(self, which: Which, name: str, given: Any) -> RpcFuture[Any]:
        """A worker has come with its object: the future of all objects."""
        for worker, reason in self._agent.lost_workers.items():
            if self._agent.worker(worker).name in which[0]:
                raise self._without(worker, reason, which)
        if which not in self._open:
            future: RpcFuture[Any] = RpcFuture(self._agent, lambda: f"the workers {which[0]}")
            self._open[which] = {}, future
        objects, future = self._open[which]
        objects[name] = given
        if len(objects) == len(which[0]):
            del self._open[which]
            future.set_result({name: objects[name] for name in which[0]})
        return future

    def missing(self, which: Which) -> list[str]:
        here = self._open[which][0] if which in self._open else ()
        return [name for name in which[0] if name not in here]

    def _lost(self, worker: int, reason: str) -> None:
        name = self._agent.worker(worker).name
        for which in [which for which in self._open if name in which[0]]:
            _, future = self._open.pop(which)
            future.set_exception(self._without(worker, reason, which))

    def _without(self, worker: int, reason: str, which: Which) -> WorkerLost:
        name = self._agent.worker(worker).name
        doing = f"was worker {name!r}, and {', '.join(which[0])} wait for each other"
        return WorkerLost(worker, reason, doing)

    def __repr__(self) -> str:
        return f"<Gatherings of {self._agent.me.name!r}, {len(self._open)} are not complete>"


def _of(agent: Agent) -> Gatherings:
    found = agent.extras.get(KEY)
    return found if isinstance(found, Gatherings) else Gatherings(agent)


def _all_gather(
    obj: Any,
    worker_names: Iterable[str] | None = None,
    timeout: float | timedelta = UNSET_RPC_TIMEOUT,
) -> dict[str, Any]:
    """The objects of all workers (or of these), by name. All of them call this.

    Without a timeout, or with 0, it waits for the others however long they take.
    """
    agent, seconds = current(), max(0.0, seconds_of(timeout))
    names = tuple(sorted(set(worker_names or agent.workers.by_name)))
    if agent.me.name not in names:
        raise ValueError(f"{agent.me.name!r} gathers with {', '.join(names)}, and is none of them")
    ours, leader = _of(agent), agent.workers.find(names[0])
    for name in names:
        agent.workers.find(name)
    which = names, ours.visits[names]
    ours.visits[names] += 1
    future = agent.call(
        leader, operations.GATHER, lambda writer: writer.value((which, obj)), "_all_gather", seconds
    )
    try:
        return dict(future.wait())
    except RpcTimeout:
        raise RpcTimeout(
            f"_all_gather of {', '.join(names)}: {agent.me.name!r} waited {seconds:g} s for "
            f"{_missing(agent, which)}. Do all of them call it, with the same names?"
        ) from None


def _barrier(worker_names: Iterable[str]) -> None:
    """Wait until these workers, of whom we are one, have all come here."""
    _all_gather(None, worker_names)


def _missing(agent: Agent, which: Which) -> str:
    leader = agent.workers.find(which[0][0])
    try:
        found = agent.call(
            leader, operations.ABSENT, lambda writer: writer.value(which), "_all_gather", PATIENCE,
            is_system=True,
        ).wait()  # fmt: skip
    except RuntimeError:
        return f"{leader.name!r}, which does not answer"
    return ", ".join(found)


def _gather(agent: Agent, src: int, said: Any) -> tuple[str, Callable[[], Any]]:
    which, given = said
    name = agent.worker(src).name
    return "_all_gather", lambda: Later(_of(agent).come(which, name, given))


def _absent(agent: Agent, src: int, which: Any) -> list[str]:
    return _of(agent).missing(which)


operations.let_run(operations.GATHER, _gather)
operations.let_handle(operations.ABSENT, _absent)
