"""The Works of a recorded rank: all of them are over at once, and waiting for them is noted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from minitorch_dist.distributed.work import Work
from minitorch_dist.distributed.world import World
from minitorch_dist.futures import Future
from mtd.planning.fold.acts import WorkAwaited
from mtd.planning.fold.roles import refuse


class NotedWork(Work):
    """The Work of something that was noted. Waiting for it is noted, too."""

    def __init__(self, world: World, output: Any, acts: list[Any], number: int, asks: str) -> None:
        super().__init__(world, output)
        self._acts, self._number, self._asks = acts, number, asks

    def _finish(self, timeout: float | None) -> None:
        self._acts.append(WorkAwaited(self._number))

    def is_completed(self) -> bool:
        if self._asks:
            refuse(f"the program asks whether {self._asks} is completed")
        return True

    def get_future(self) -> Future[Any]:
        future = NotedFuture(self)
        future.set_result(self._output if isinstance(self._output, list) else [self._output])
        return future


class NotedFuture(Future[Any]):
    """Its callbacks run at once, so they must not compute or communicate."""

    def __init__(self, work: NotedWork) -> None:
        super().__init__(condition=work._world.clock.condition)
        self._work = work

    def wait(self) -> Any:
        self._work.wait()
        return super().wait()

    def then(self, callback: Callable[[Future[Any]], Any]) -> NoReturn:
        refuse("a callback (Future.then) follows a collective")

    def add_done_callback(self, callback: Callable[[Future[Any]], Any]) -> None:
        acts = self._work._acts
        before = len(acts)
        super().add_done_callback(callback)
        if len(acts) > before:
            refuse("a callback of a collective computes or communicates")
