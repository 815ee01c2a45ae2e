"""Futures of simulated ranks. A wait in torch's C++ is one in real time, in which no other rank could go on.

So a wait in Python drives the operation first. DDP's reducer waits in C++, at the end of a backward:
there the engine calls `settle_all` before it, as a callback of this backward. So communication goes on beside the
rest of the backward in virtual time, as it does on real wires.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.futures import Future

from minitorch_dist.distributed import world


class VirtualFuture(Future[Any]):
    """Of a Work, or of what `then` makes of an earlier future."""

    def __init__(self, work: Any = None, before: VirtualFuture | None = None) -> None:
        super().__init__()
        self._work, self._before = work, before

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
            self.set_exception(error)
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
                following.set_exception(error)
            else:
                following.set_result(result)

        self.add_done_callback(run)
        return following


def in_this_backward(future: VirtualFuture) -> None:
    """See to it that the future is complete when the backward which the caller is in ends, if it is in one."""
    given = world.place().given
    waiting: list[VirtualFuture] | None = given.get("futures of this backward")
    if waiting is None:
        waiting = []

        def settle_all() -> None:
            del given["futures of this backward"]
            for each in waiting:
                each.settle()

        try:
            torch.autograd.Variable._execution_engine.queue_callback(settle_all)
        except RuntimeError:  # outside of a backward
            return
        given["futures of this backward"] = waiting
    waiting.append(future)
