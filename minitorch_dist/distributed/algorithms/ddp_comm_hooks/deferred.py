"""A future whose value is computed by the thread that waits for it.

A hook with two collectives, one after the other, must not call the second from a callback. A callback
runs in the group's worker as soon as the first is done. That is sooner or later on each rank, so the
ranks' operations would be in different orders. The rank's own thread waits at the same place everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from minitorch_dist.futures import Future

T = TypeVar("T")


class DeferredFuture(Future[T]):
    def __init__(self, compute: Callable[[], T]) -> None:
        super().__init__()
        self._compute = compute

    def wait(self) -> T:
        if not self.done():
            try:
                value = self._compute()
            except Exception as error:
                self.set_exception(error)
            else:
                self.set_result(value)
        return super().wait()

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of the value that `callback` makes of this one, once a thread waits for it."""

        def both() -> Any:
            self.wait()
            return callback(self)

        return DeferredFuture(both)
