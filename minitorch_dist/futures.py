"""Values that are not there yet: PyTorch's `torch.futures`.

The code that computes the value calls `set_result` or `set_exception`, once. The code that needs it calls
`wait`, or leaves a callback. A callback runs in the thread which completes the future (at once, if it is
complete already).

In two points this is better than torch. An exception keeps its type on its way through `then`, `wait_all`
and `collect_all` (torch turns it into a RuntimeError that quotes it). Every exception ends `collect_all`
early, those from `set_exception` too (torch waits for the other futures, maybe for ever).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition  # noqa: TID251 - made in system_condition only
from typing import Any, Generic, TypeVar, cast

from minitorch_dist.tensors import devices as device_names

T = TypeVar("T")
S = TypeVar("S")

_PENDING, _RESULT, _ERROR = "pending", "result", "error"
TWICE = "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once."


def system_condition() -> Condition:
    """The condition that a future waits on in real time; a world under virtual time gives its clock's."""
    return Condition()


class Future(Generic[T]):
    """A value, or an exception, that arrives once.

    `devices` changes nothing. `condition` makes what is waited on (a clock's
    `condition`); futures derived from this one wait on the same kind.
    """

    _state = _PENDING
    _content: Any = None  # the value, or the exception and its traceback

    def __init__(
        self,
        *,
        devices: Sequence[int | str | device_names.device] | None = None,
        condition: Callable[[], Any] = system_condition,
    ) -> None:
        self._condition = condition
        self._changed = condition()
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether the value or the exception is there."""
        return self._state is not _PENDING

    def wait(self) -> T:
        """The value, once it is there; raises the exception, if that is what arrived."""
        try:
            if self._state is _PENDING:
                self._wait_until_done()
            return self._get()
        finally:
            del self

    def _wait_until_done(self) -> None:
        with self._changed:
            while self._state is _PENDING:
                self._changed.wait()

    def value(self) -> T:
        """The value of a future that is done. Inside callbacks, where waiting makes no sense."""
        if self._state is _PENDING:
            raise RuntimeError(
                "value() of a Future that is not completed (torch: INTERNAL ASSERT FAILED); call "
                "wait(), or value() only once done() is True"
            )
        return self._get()

    def _get(self) -> T:
        try:
            if self._state is _ERROR:
                raise self._content[0].with_traceback(self._content[1])
            return cast("T", self._content)
        finally:
            del self  # a frame in the traceback must not hold what holds the traceback

    # --------------------------------------------------------------------------------- completing

    def set_result(self, result: T) -> None:
        """Complete with a value: wakes who waits, then runs the callbacks in this thread."""
        self._complete(_RESULT, result)

    def set_exception(self, result: Exception) -> None:
        """Complete with an exception, which `wait` and `value` raise."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(_ERROR, (result, result.__traceback__))

    def _complete(self, state: str, content: Any) -> None:
        with self._changed:
            if self._state is not _PENDING:
                raise RuntimeError(TWICE)
            self._content, self._state = content, state
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        self._announce()
        for callback in callbacks:
            callback(self)

    def _announce(self) -> None:
        """For futures that are waited for in other ways too."""

    def _following(self) -> Future[Any]:
        """An empty future, to be waited for as this one is."""
        return Future(condition=self._condition)

    # ---------------------------------------------------------------------------------- callbacks

    def _when_done(self, callback: Callable[[Future[T]], Any]) -> None:
        with self._changed:
            if self._state is _PENDING:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what `callback` makes of this one, or of the exception it raises."""
        if not callable(callback):
            raise TypeError(f"then(): the callback must be callable, not {type(callback).__name__}")
        following: Future[S] = self._following()

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self._when_done(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Run `callback` when this is done. An exception in it is logged and goes no further."""
        if not callable(callback):
            raise TypeError(f"add_done_callback(): the callback must be callable, not {type(callback).__name__}")

        def run(done: Future[T]) -> None:
            try:
                callback(done)
            except Exception:
                logging.getLogger(__name__).exception("Got the following error when running the callback:")

        self._when_done(run)

    def __getstate__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future: its value arrives in this process only")

    def __repr__(self) -> str:
        if self._state is _ERROR:
            return f"<Future with {self._content[0]!r}>"
        return f"<Future {self._state}{'' if self._state is _PENDING else f' {self._content!r}'}>"


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the list of these futures, done when all are; with the first exception, at once."""
    _check(futures)
    if not futures:
        nothing: Future[list[Future[Any]]] = Future()
        nothing.set_result([])
        return nothing
    together: Future[list[Future[Any]]] = futures[0]._following()
    missing = len(futures)

    def arrived(one: Future[Any]) -> None:
        nonlocal missing
        if one._state is _ERROR:
            with suppress(RuntimeError):  # another one has failed first
                together.set_exception(one._content[0])
            return
        with together._changed:
            missing -= 1
            last = missing == 0
        if last:
            together.set_result(list(futures))

    for future in futures:
        future._when_done(arrived)
    return together


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The values in the order of `futures`. The first exception is raised without further waiting."""
    return [future.value() for future in collect_all(futures).wait()]


def _check(futures: Any) -> None:
    if not isinstance(futures, Sequence):
        raise TypeError(f"expected a list of Futures, but got {type(futures).__name__}")
    for number, future in enumerate(futures):
        if not isinstance(future, Future):
            raise TypeError(f"expected a list of Futures, but entry {number} is a {type(future).__name__}")
