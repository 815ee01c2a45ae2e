"""A graceful end: leave when all work is done, everywhere, and say for whom one waits.

A worker that has nothing to do may still be asked for something by one that has. So the workers
count, in rounds, the calls they sent to and served for each other, and rank 0 compares:

    round k    everybody: wait until nothing runs here ─► JOIN (k, sent, served) ─► rank 0
               rank 0, when all have come: every call that was sent was served, and nothing has
               changed since round k-1?  done : another round

(Mattern, Algorithms for distributed termination detection, Distributed Computing 2, 1987,
doi:10.1007/BF01782776: the four-counter method.) Two rounds are two round trips.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed import world
from minitorch_dist.distributed.exceptions import DistError, DistTimeout
from minitorch_dist.distributed.mail.mailbox import SLOW, SLOW_VARIABLE
from minitorch_dist.distributed.rpc import joining, operations
from minitorch_dist.distributed.rpc.agent import KEY, Agent, current
from minitorch_dist.distributed.rpc.calls import RpcFuture
from minitorch_dist.distributed.rpc.constants import DEFAULT_SHUTDOWN_TIMEOUT
from minitorch_dist.distributed.rpc.crew import runs_job
from minitorch_dist.distributed.rpc.errors import WorkerLost
from minitorch_dist.futures import Future
from transports.clock import PICO, Deadline

LEADER: Final = 0
LINGER: Final = 5.0  # seconds
_log = logging.getLogger("minitorch_dist.distributed.rpc")


class Came(NamedTuple):
    """What a worker says when it comes to a round."""

    issued: dict[int, int]
    served: dict[int, int]
    is_exact: bool  # no call of it was given up


class Rounds:
    """Rank 0's book of who has come."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._came: dict[int, dict[int, tuple[Came, Future[Any]]]] = {}
        self._before: dict[int, Came] = {}
        agent.extras.setdefault("when_lost", []).append(lambda src, reason: self._look())

    def come(self, src: int, number: int, came: Came) -> Future[Any]:
        answer: Future[Any] = Future(condition=lambda: self._agent.clock.condition("a round"))
        self._came.setdefault(number, {})[src] = came, answer
        self._look()
        return answer

    def missing(self) -> list[int]:
        """Who has not come to the round that is on."""
        if not self._came:
            return []
        here = self._came[min(self._came)]
        return [id for id in self._alive() if id not in here]

    def _alive(self) -> list[int]:
        return [id for id in self._agent.workers.by_id if id not in self._agent.lost_workers]

    def _look(self) -> None:
        while self._came and not self.missing():
            number = min(self._came)
            round = self._came.pop(number)
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
        return all(
            said[src].issued.get(dst, 0) == said[dst].served.get(src, 0)
            for src in alive
            for dst in alive
        )


def _book(agent: Agent) -> Rounds:
    book: Rounds = agent.extras.setdefault("rounds", None) or Rounds(agent)
    agent.extras["rounds"] = book
    return book


def _join(agent: Agent, src: int, said: Any) -> Future[Any]:
    number, issued, served, is_exact = said
    return _book(agent).come(src, number, Came(issued, served, is_exact))


def _missing(agent: Agent, src: int, said: Any) -> list[tuple[str, float]]:
    now = agent.clock.now()
    return [
        (agent.worker(id).name, (now - agent.heard.get(id, now)) / PICO)
        for id in _book(agent).missing()
    ]


operations.let_handle(operations.JOIN, _join)
operations.let_handle(operations.MISSING, _missing)


class Ending:
    """One worker's way out."""

    def __init__(self, agent: Agent, seconds: float | None) -> None:
        self._agent, self._deadline = agent, agent.clock.deadline(seconds)
        self._number = 0
        slow = float(os.environ.get(SLOW_VARIABLE) or SLOW) if agent.is_real else 0.0
        self._slow: float | None = slow or None

    def wait_for_own_work(self) -> None:
        """Return when all our calls are answered, and nothing runs here. Others may go on."""
        self._be_quiet()

    def wait_for_all_work(self) -> None:
        """Return when no call is under way anywhere."""
        is_over = False
        while not is_over:
            self._be_quiet()
            is_over = self._round()

    def wait_for_all(self) -> None:
        """A barrier."""
        self._round()

    def linger(self) -> None:
        """Where messages get lost: stay until everybody has heard that it is over, or a while."""
        agent = self._agent
        deadline = agent.clock.deadline(LINGER)
        while agent.may_lose and agent.server.owes() and not deadline.is_over():
            agent.clock.sleep(0.05)

    def _be_quiet(self) -> None:
        agent = self._agent
        while True:
            calls = agent.caller.of_users()
            if calls:
                words = ", ".join(map(str, calls[:3])) + (", …" if len(calls) > 3 else "")
                future = calls[0].future
                if future is not None:
                    self._wait(future, lambda words=words: f"the answer to {words}")
            elif not agent.crew.wait_until_quiet(self._slice()):
                self._late(lambda: f"functions that still run here: {agent.crew!r}")
            else:
                return

    def _round(self) -> bool:
        agent, number = self._agent, self._number
        self._number += 1
        issued, served = dict(agent.caller.issued), dict(agent.server.served)
        said = (number, issued, served, not agent.caller.has_given_up)
        future = agent.call(
            agent.worker(LEADER), operations.JOIN, lambda writer: writer.value(said), "shutdown",
            0.0, is_system=True,
        )  # fmt: skip
        self._wait(future, self._who)
        is_over, lost = future.value()
        if lost:
            reasons = [agent.lost_workers.get(id, "it is gone") for id in lost]
            raise WorkerLost(
                lost[0], reasons[0],
                f"was worker {agent.worker(lost[0]).name!r}; the others shut down without it",
            )  # fmt: skip
        return bool(is_over)

    def _who(self) -> str:
        """Ask rank 0 for whom it waits."""
        agent = self._agent
        future = agent.call(
            agent.worker(LEADER), operations.MISSING, lambda writer: writer.value(None), "shutdown",
            1.0, is_system=True,
        )  # fmt: skip
        agent.wait_for(future, agent.clock.deadline(1.0))
        try:
            missing = future.value()
        except Exception:
            return f"{agent.worker(LEADER).name}, which does not answer"
        return ", ".join(f"{name} (last heard of {age:.0f} s ago)" for name, age in missing)

    def _slice(self) -> float | None:
        left = self._deadline.left()
        return left if self._slow is None else self._slow if left is None else min(left, self._slow)

    def _wait(self, future: RpcFuture[Any], whom: Any) -> None:
        while not future.done():
            future.settle(Deadline(self._agent.clock, self._slice()))  # the crew drives, and serves
            if not future.done():
                self._late(whom)

    def _late(self, whom: Any) -> None:
        name = self._agent.me.name
        if self._deadline.is_over():
            raise DistTimeout(
                f"shutdown of {name!r} did not come about in {self._deadline.seconds} s: it waits for "
                f"{whom()}. Does every worker call shutdown? shutdown(graceful=False) leaves at once"
            )
        _log.warning("shutdown of %r: waiting for %s", name, whom())
        self._slow = 2 * self._slow if self._slow else None


# -------------------------------------------------------------------------------------- the way out


def shutdown(graceful: bool = True, timeout: float = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Leave. Gracefully: when all workers have come and all work is done everywhere, in at most
    `timeout` seconds (0: however long it takes); else at once, and calls under way fail.

    Where workers join one by one, they leave so as well: only our own work has to be done."""
    agent = current()
    if runs_job():
        raise RuntimeError(
            "rpc.shutdown was called by a function that runs for a peer: it would wait for itself. "
            "Call it in the worker's own program"
        )
    try:
        if graceful:
            ending = Ending(agent, timeout if timeout > 0 else None)
            membership = agent.extras.get(joining.KEY)
            if membership is None:
                ending.wait_for_all_work()
            else:
                ending.wait_for_own_work()
            for last in agent.extras.get("before_end", ()):
                last()
            if membership is None:
                ending.wait_for_all()
            else:
                membership.part()
                ending.wait_for_own_work()  # what was asked before they knew
            for look in agent.extras.get("after_end", ()):
                look()
            ending.linger()
    finally:
        _leave(agent)


def _leave(agent: Agent) -> None:
    here = world.place()
    here.extras.pop(KEY, None)
    if leave_behind in here.at_end:
        here.at_end.remove(leave_behind)
        here.interrupts.remove(agent.transport.close)
    agent.close(patience=5.0)
    with suppress(DistError, OSError):  # the store's master may have left first
        agent.extras["left"]()
    store = agent.extras.get("store")
    if store is not None:
        store.close()


def leave_behind() -> None:
    """Our rank is over, and did not shut RPC down."""
    agent = world.place().extras.get(KEY)
    if agent is not None:
        _leave(agent)
