"""What workers can ask of each other, by one byte, and who knows how to do it.

Handlers answer at once, in the thread that received the request, and run nothing of the user's.
Runners return what is to be run, and run as functions of the user do.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from minitorch_dist.distributed.codec import Damaged

(
    CALL, REMOTE, METHOD, TYPE, FETCH,  # runners: see `serving` and `references`
    FORK, DELETE, ADOPT, JOIN, MISSING, BACKWARD, UNUSED, CLEAN, ABORT, HELLO, GOODBYE, GATHER, ABSENT,
) = range(18)  # fmt: skip

Handler = Callable[[Any, int, Any], Any]
Runner = Callable[[Any, int, Any], tuple[str, Callable[[], Any]]]

_handlers: dict[int, Handler] = {}
_runners: dict[int, Runner] = {}
_ROOMS: Final = {  # of floors above ours, opened when a peer asks for them
    BACKWARD: "minitorch_dist.distributed.autograd",
    CLEAN: "minitorch_dist.distributed.autograd",
    ABORT: "minitorch_dist.distributed.autograd",
    UNUSED: "minitorch_dist.distributed.autograd",
}


def let_handle(operation: int, handler: Handler) -> None:
    _handlers[operation] = handler


def let_run(operation: int, runner: Runner) -> None:
    _runners[operation] = runner


def find(operation: int) -> Handler:
    return _known(_handlers, operation)  # type: ignore[no-any-return]


def runner(operation: int) -> Runner:
    return _known(_runners, operation)  # type: ignore[no-any-return]


def _known(table: dict[int, Any], operation: int) -> Any:
    if operation not in table and operation in _ROOMS:
        import_module(_ROOMS[operation])
    if operation not in table:
        raise Damaged(f"a request for operation {operation}, which nobody here knows")
    return table[operation]
