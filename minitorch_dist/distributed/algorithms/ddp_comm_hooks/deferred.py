"""A future whose value is computed by whoever waits for it.

A hook with two collectives, one after the other, must not call the second from a callback: that runs
in the group's worker as soon as the first is done, sooner or later on each rank, and then the ranks'
operations are in different orders. Who waits is the rank's own thread, at the same place everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from minitorch_dist.futures import Future

T = TypeVar("T")


class Deferred(Future[T]):
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
        """What `callback` makes of this one, once somebody waits for it."""

        def both() -> Any:
            self.wait()
            return callback(self)

        return Deferred(both)
