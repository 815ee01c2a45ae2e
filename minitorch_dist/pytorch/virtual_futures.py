"""Waits of torch's C++. On simulated ranks they would be in real time, in which no other rank could go on; and
the error of a future is a value there, which nobody raises.

So a wait in Python drives the operation first. DDP's reducer waits in C++, at the end of a backward:
there the engine calls `settle_all` before it, as a callback of this backward. So communication goes on beside the
rest of the backward in virtual time. The backward raises their errors.

On real wires a backward has such futures, too, because a hook's callback may communicate (PowerSGD's does). `settle_all`
calls them in one order on all ranks; the threads that carry operations out would call them in any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.futures import Future

from minitorch_dist.distributed import world

T = TypeVar("T")


class VirtualFuture(Future[Any]):
    """Of a Work, or of what `then` makes of an earlier future."""

    def __init__(self, work: Any = None, before: VirtualFuture | None = None) -> None:
        super().__init__()
        self._work, self._before = work, before
        self.failures: list[Exception] = [] if before is None else before.failures  # of callbacks in this row

    def settle(self) -> None:
        """Wait in virtual time until it is complete."""
        if self.done():
            return
        if self._before is not None:  # its callback completes this one
            return self._before.settle()
        work, self._work = self._work, None
        if work is None:  # it is waited for further up
            return
        try:
            work.wait()
        except Exception as error:
            fail(self, error)
        else:
            self.set_result(work.result())

    def wait(self) -> Any:
        self.settle()
        return super().wait()

    def then(self, callback: Callable[[Any], Any]) -> Any:
        following = VirtualFuture(before=self)

        def run(done: Any) -> None:
            try:
                result = callback(done)
            except Exception as error:
                self.failures.append(error)
                fail(following, error)
            else:
                following.set_result(result)

        self.add_done_callback(run)
        return following


def fail(future: Future[Any], error: BaseException) -> None:
    """As torch's `set_exception`, which only takes errors that can be pickled."""

    def raise_error(_: Any) -> None:
        raise error

    future._set_unwrap_func(raise_error)
    future.set_result(None)


def is_in_backward() -> bool:
    return bool(torch._C._current_graph_task_id() != -1)


def finish(future: VirtualFuture, work: Any) -> None:
    """Let it be complete. C++ would take what a failed callback leaves for its result, so its error is raised here."""
    future.settle()
    work.wait()
    if future.failures:
        raise future.failures[0]


def in_this_backward(future: VirtualFuture, work: Any) -> None:
    """See to it that the future is complete when the backward which the caller is in ends, if it is in one. An error
    of its Work becomes the backward's."""
    given = world.place().given
    if "finish at once" in given:
        return finish(future, work)
    if not is_in_backward():
        return
    # At its end the reducer of a static graph begins its sums, and waits at once.
    if torch._C._current_autograd_node() is None:
        return finish(future, work)
    begun: list[tuple[VirtualFuture, Any]] | None = given.get("begun in this backward")
    if begun is None:
        begun = []

        def settle_all() -> None:
            del given["begun in this backward"]
            for each, its_work in begun:
                finish(each, its_work)

        torch.autograd.Variable._execution_engine.queue_callback(settle_all)
        given["begun in this backward"] = begun
    begun.append((future, work))


def finishing(function: Callable[..., T]) -> Callable[..., T]:
    """A function of torch's C++ that has finished what it began when it returns, because its caller waits in C++."""

    def called(*given: Any) -> T:
        marks = world.place().given
        marks["finish at once"] = True
        try:
            return function(*given)
        finally:
            del marks["finish at once"]

    return called
