"""`shutdown`: leave when all work is done everywhere, and say which workers are awaited.

A worker that has nothing to do may still be asked for something by another one. So all workers count, in
rounds, the calls that they sent to each other and served for each other. Rank 0 compares:

    round k    each worker: wait until nothing runs here ─► JOIN (k, sent, served) ─► rank 0
               rank 0, when all have come: every call that was sent was served, and nothing has
               changed since round k-1?  done : another round

(Mattern, Algorithms for distributed termination detection, Distributed Computing 2, 1987,
doi:10.1007/BF01782776: the four-counter method.) Two rounds are two round trips.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed import bootstrap, world
from minitorch_dist.distributed.aside import Aside
from minitorch_dist.distributed.exceptions import DistTimeout, WorkerLost
from minitorch_dist.distributed.mail.mailbox import SLOW, SLOW_VARIABLE
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import RpcAgent, current
from minitorch_dist.distributed.rpc.pool import WorkerPool, how_to_wait
from minitorch_dist.futures import Future
from transports.clock import PICO

LEADER: Final = 0
_log = logging.getLogger("minitorch_dist.distributed.rpc")


class Came(NamedTuple):
    """The counts with which a worker comes to a round."""

    issued: dict[int, int]
    served: dict[int, int]
    is_exact: bool  # no call of it was given up


class Rounds:
    """Rank 0 notes here which workers have come to the present round: nobody comes to the next one before that has ended."""

    def __init__(self, agent: RpcAgent) -> None:
        self._agent = agent
        self._came: dict[int, tuple[Came, Future[Any]]] = {}
        self._before: dict[int, Came] = {}
        agent.when_lost.append(lambda src, reason: self._answer_if_complete())

    def come(self, src: int, came: Came) -> Future[Any]:
        answer: Future[Any] = Future(condition=lambda: self._agent.clock.condition("a round"))
        self._came[src] = came, answer
        self._answer_if_complete()
        return answer

    def missing(self) -> list[int]:
        """The workers that have not come, if others have."""
        return [id for id in self._alive() if id not in self._came] if self._came else []

    def _alive(self) -> list[int]:
        return [id for id in self._agent.workers.by_id if id not in self._agent.lost_workers]

    def _answer_if_complete(self) -> None:
        if self._came and not self.missing():
            round, self._came = self._came, {}
            said = {src: came for src, (came, _) in round.items()}
            verdict = self._is_over(said), sorted(self._agent.lost_workers)
            self._before = said
            for _, answer in round.values():
                answer.set_result(verdict)

    def _is_over(self, said: dict[int, Came]) -> bool:
        alive = self._alive()
        if {id: said.get(id) for id in alive} != {id: self._before.get(id) for id in alive}:
            return False
        if not all(came.is_exact for came in said.values()):
            return True
        return all(said[src].issued.get(dst, 0) == said[dst].served.get(src, 0) for src in alive for dst in alive)


def _join(agent: RpcAgent, src: int, said: Any) -> serve.Later:
    _, *counts = said  # the number of the round
    return serve.Later(agent.part(Rounds).come(src, Came(*counts)))


def _missing(agent: RpcAgent, src: int, said: Any) -> list[tuple[str, float]]:
    now = agent.clock.now()
    return [(agent.worker(id).name, (now - agent.heard.get(id, now)) / PICO) for id in agent.part(Rounds).missing()]


serve.HANDLERS.update({serve.JOIN: _join, serve.MISSING: _missing})


class Ending:
    """The steps of one worker's graceful end."""

    def __init__(self, agent: RpcAgent, seconds: float | None) -> None:
        self._agent, self._deadline = agent, agent.clock.deadline(seconds)
        self._number = 0
        slow = float(os.environ.get(SLOW_VARIABLE) or SLOW) if agent.is_real else 0.0
        self._slow: float | None = slow or None

    def wait_for_all_work(self) -> None:
        """Wait until no call is under way anywhere."""
        is_over = False
        while not is_over:
            self._be_quiet()
            is_over = self.round()

    def _be_quiet(self) -> None:
        """Wait until our calls have their answers and nothing runs here."""
        agent = self._agent
        while calls := [call for call in agent.caller.pending() if not call.is_system]:
            if (future := calls[0].future) is not None:
                self._wait(future.settle, calls[0].awaited)
        self._wait(agent.pool.wait_until_quiet, lambda: f"functions that still run here: {agent.pool!r}")

    def round(self) -> bool:
        """Wait until all workers have come here: a barrier. Whether no call is under way anywhere."""
        agent, number = self._agent, self._number
        self._number += 1
        issued, served = dict(agent.caller.issued), dict(agent.server.served)
        said = (number, issued, served, not agent.caller.has_given_up)
        future = agent.ask(agent.worker(LEADER), serve.JOIN, said, "shutdown", 0.0)
        self._wait(future.settle, self._who)
        is_over, lost = future.value()
        if lost:
            reasons = [agent.lost_workers.get(id, "it is gone") for id in lost]
            raise WorkerLost(
                lost[0], reasons[0], f"was worker {agent.worker(lost[0]).name!r}; the others shut down without it"
            )
        return bool(is_over)

    def _who(self) -> str:
        """The workers for which rank 0 waits, in words."""
        agent = self._agent
        future = agent.ask(agent.worker(LEADER), serve.MISSING, None, "shutdown", 1.0)
        future.settle(1.0)
        try:
            missing = future.value()
        except Exception:
            return f"{agent.worker(LEADER).name}, which does not answer"
        return ", ".join(f"{name} (last heard of {age:.0f} s ago)" for name, age in missing)

    def _wait(self, done: Callable[[float | None], bool], whom: Callable[[], str]) -> None:
        """Wait until `done`, which waits so many seconds, says yes: the worker pool drives, and serves. Warn now and then."""
        deadline, name = self._deadline, self._agent.me.name
        while not done(min((s for s in (self._slow, deadline.left()) if s is not None), default=None)):
            if deadline.is_over():
                raise DistTimeout(
                    f"shutdown of {name!r} did not come about in {deadline.seconds} s{self._agent.clock.of_time}: it waits for "
                    f"{whom()}. Does every worker call shutdown? shutdown(graceful=False) leaves at once"
                )
            _log.warning("shutdown of %r: waiting for %s", name, whom())
            self._slow = 2 * self._slow if self._slow else None


# -------------------------------------------------------------------------------------- the way out


def shutdown(graceful: bool = True, timeout: float = 0.0) -> None:
    """Leave. A graceful end waits until all workers have come and all work is done everywhere.

    Objects that nobody gave back are a warning.

    Args:
        graceful: False ends at once, and calls under way fail.
        timeout: The most that it waits, in seconds; 0 is however long it takes.

    Example:
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc(f"worker{dist.get_rank()}")
        ...     rpc.shutdown()
        >>> sim.run(program, 2).results
        [None, None]
    """
    agent = current()
    if isinstance(how_to_wait.get(), WorkerPool):
        raise RuntimeError(
            "rpc.shutdown was called by a function that runs for a peer: it would wait for itself. "
            "Call it in the worker's own program"
        )
    try:
        if graceful:
            ending = Ending(agent, timeout if timeout > 0 else None)
            ending.wait_for_all_work()
            for last in agent.before_end:
                last()
            ending.round()
            for follow in agent.after_end:
                follow()
    finally:
        _leave(agent)


def _leave(agent: RpcAgent) -> None:
    here = world.place()
    here.rpc_agent = None
    if leave_behind in here.at_end:
        here.at_end.remove(leave_behind)
        here.interrupts.remove(agent.transport.close)
    agent.close(patience=5.0)
    aside = Aside(agent.clock, f"farewell of {agent!r}")  # the store's master may have left first
    aside.settle(aside.ask(agent.sign_off), bootstrap.DEPARTURE)
    if agent.own_store is not None:
        agent.own_store.close()


def leave_behind() -> None:
    """Our rank is over and did not shut RPC down: do it now."""
    agent = world.place().rpc_agent
    if agent is not None:
        _leave(agent)
