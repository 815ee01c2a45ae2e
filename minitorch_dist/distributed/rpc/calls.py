"""A call that was made and is not answered yet, and the future of its answer.

Who waits for an answer drives the transport meanwhile: nothing stands between the wire and the
caller. Futures made of such a future (`then`, `collect_all`) are waited for in the same way.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from minitorch_dist.distributed.rpc.errors import RpcTimeout, WorkerLost
from minitorch_dist.distributed.rpc.workers import WorkerInfo
from minitorch_dist.futures import Future
from transports.clock import PICO, Deadline

T = TypeVar("T")


class Waiter(Protocol):
    """Who knows how to wait for an answer (the agent)."""

    def wait_for(self, future: RpcFuture[Any]) -> None:
        """Return when the future is done, or when it can be waited for by its condition."""

    def rouse(self) -> None:
        """Somebody may wait in the transport for what has just come about."""

    def condition(self, waits_for: Callable[[], str]) -> Any: ...


class RpcFuture(Future[T]):
    """A future whose value comes over the wire. `waits_for` says in words what that is."""

    def __init__(self, waiter: Waiter, waits_for: Callable[[], str]) -> None:
        super().__init__(condition=lambda: waiter.condition(waits_for))
        self._waiter, self._waits_for = waiter, waits_for
        self.waiting: list[int] = []  # the threads that wait for it in the transport

    def wait(self) -> T:
        if not self.done():
            self._waiter.wait_for(self)
        try:
            return super().wait()
        finally:
            del self

    def settle(self, deadline: Deadline) -> None:
        """Wait by the condition, and raise nothing."""
        with self._changed:
            while not (self.done() or deadline.is_over()):
                self._changed.wait(deadline.left())

    def _announce(self) -> None:
        if self.waiting and self.waiting != [get_ident()]:
            self._waiter.rouse()

    def _following(self) -> RpcFuture[Any]:
        return RpcFuture(self._waiter, self._waits_for)

    @property
    def has_callbacks(self) -> bool:
        return bool(self._callbacks)


class Call:
    """One request of ours: what it was, and what is known of it."""

    __slots__ = (
        "doing", "end", "future", "id", "is_known", "is_system", "keeps", "parts", "probed", "settled", "site",
        "started", "timeout", "to",
    )  # fmt: skip

    def __init__(
        self, id: int, to: WorkerInfo, doing: str, site: str, started: int, timeout: float,
        future: RpcFuture[Any], is_system: bool,
    ) -> None:  # fmt: skip
        self.id, self.to, self.doing, self.site = id, to, doing, site
        self.started, self.timeout = started, timeout
        self.future: RpcFuture[Any] | None = future
        self.end: int | None = started + round(timeout * PICO) if timeout > 0 else None
        self.is_system = is_system
        self.is_known = False  # the worker has said that it has it
        self.parts: list[Any] = []  # to be sent again, where messages can get lost
        self.probed = started
        self.settled: Callable[[Exception | None], None] | None = None
        self.keeps: object = None

    def answer(self, value: Any) -> None:
        """What was asked for is here."""
        if self.settled is not None:
            self.settled(None)
        self._let_go().set_result(value)

    def end_with(self, error: Exception) -> None:
        """There will be no answer."""
        if self.settled is not None:
            self.settled(error)
        self._let_go().set_exception(error)

    def _let_go(self) -> RpcFuture[Any]:
        """The future. It knows us for its words; so that its value is free when nobody wants it, we
        do not know it any more."""
        future, self.future = self.future, None
        assert future is not None, "a call ends once"
        self.settled = self.keeps = None
        return future

    # what came instead of an answer, in words

    def unsent(self, reason: str) -> WorkerLost:
        """Its worker was gone before."""
        return self._lost(reason, "was not sent", may_have_run=False)

    def bereft(self, reason: str) -> WorkerLost:
        """Its worker is gone."""
        return self._lost(reason, "may have run", may_have_run=True)

    def _lost(self, reason: str, fate: str, may_have_run: bool) -> WorkerLost:
        doing = f"was worker {self.to.name!r}; {self} {fate}"
        return WorkerLost(self.to.id, reason, doing, may_have_run)

    def overdue(self) -> RpcTimeout:
        """Its time is over."""
        words = f"{self} may have run, may be running, or may still come to run"
        if self.is_known:
            words = f"{self} has arrived there and may have run, or may be running"
        return RpcTimeout(
            f"RPCErr:1:RPC ran for more than set timeout ({self.timeout * 1000:.0f} ms) and will now "
            f"be marked with an error. {words}; give it more time (timeout=…), or look what "
            f"{self.to.name!r} does"
        )

    @property
    def has_callbacks(self) -> bool:
        return self.future is not None and self.future.has_callbacks

    def __str__(self) -> str:
        at = f", called at {self.site}" if self.site else ""
        return f"{self.doing} on {self.to.name!r}{at}"

    def __repr__(self) -> str:
        return f"<Call {self.id}: {self}>"
