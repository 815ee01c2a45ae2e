"""The callee's side: read a request, run it, answer.

    REQUEST   its first byte is the operation. CALL is (function, args, kwargs), and its answer is what the
              function returns. RRefs, autograd and shutdown use the others

handler   answers at once, in the thread that received the request, and runs nothing of the user's
runner    returns a function, which runs as functions of the user do

Each module enters its own into these two tables. Every request comes once here.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from threading import Lock  # noqa: TID251 - guards one `+=`; nothing waits in here
from typing import Any, Final, NamedTuple, TypeVar

from minitorch_dist.distributed.codec import DamagedEncoding, UnknownName, Unsendable
from minitorch_dist.distributed.exceptions import RpcError
from minitorch_dist.distributed.rpc import functions, message as messages
from minitorch_dist.distributed.rpc.message import ANSWER, FAILURE, Pack, RpcMessage, RpcReader, RpcWriter
from minitorch_dist.distributed.rpc.worker import Job, RpcWorker
from minitorch_dist.futures import Future

(
    CALL, REMOTE, METHOD, TYPE, FETCH,  # runners: see below and `rref_owner`
    FORK, DELETE, ADOPT, JOIN, MISSING, BACKWARD, UNUSED, CLEAN, ABORT,
) = range(14)  # fmt: skip

Handler = Callable[[Any, int, Any], Any]
Runner = Callable[[Any, int, Any], tuple[str, Callable[[], Any]]]
T = TypeVar("T")
HANDLERS: Final[dict[int, Handler]] = {}
RUNNERS: Final[dict[int, Runner]] = {}


def known(table: dict[int, T], operation: int) -> T:
    """The entry of an operation that a peer asks for."""
    if operation not in table:
        raise DamagedEncoding(f"a request for operation {operation}, which nobody here knows")
    return table[operation]


_log = logging.getLogger("minitorch_dist.distributed.rpc")


class RequestServer:
    """Carries out the requests that come to one worker."""

    def __init__(self, worker: RpcWorker) -> None:
        self._worker = worker
        self.served: Counter[int] = Counter()  # requests of users that were answered, by caller
        self._lock = Lock()

    def take(self, message: RpcMessage) -> Job | None:
        """A request has come. It is a job, unless a handler has answered it already."""
        if message.is_system:
            self._handle(message)
            return None
        return lambda: copy_context().run(self._run, message)

    def _handle(self, message: RpcMessage) -> None:
        """Carry out an operation of our own. It does not wait, and runs nothing of the user's."""
        try:
            reader = RpcReader(message.parts[0], message.parts[1:], self._worker.trust)
            handler = known(HANDLERS, reader.byte())
            result = handler(self._worker, message.src, reader.value())
        except Exception as error:
            if message.is_one_way:
                _log.exception("a notice of worker %d could not be handled", message.src)
            else:
                self._reply(message, FAILURE, error)
            return
        if not message.is_one_way:
            self._finish(message, result)

    def _run(self, message: RpcMessage) -> None:
        """Run the function of a request, and answer."""
        doing, result = "a request", None
        pack: Pack = messages.no_load
        try:
            reader = RpcReader(message.parts[0], message.parts[1:], self._worker.trust)
            runner = known(RUNNERS, reader.byte())
            asked, load = reader.value(), reader.value()
            reader.end()
            doing, function = runner(self._worker, message.src, asked)
            if load is not None:
                pack = messages.autograd[0].enter(load, reader, message.src)
            result = function()
        except Exception as error:
            self._reply(message, FAILURE, error, pack)
        except BaseException as error:  # sys.exit, or an interrupt: our thread stays
            ended = RpcError(f"{doing} on {self._worker.me.name!r} ended with {error!r}")
            self._reply(message, FAILURE, ended, pack)
        else:
            self._finish(message, result, doing, pack)

    # -------------------------------------------------------------------------------- answering

    def _finish(self, message: RpcMessage, result: Any, doing: str = "", pack: Pack = messages.no_load) -> None:
        """Answer with the result; with that of a future when it is there."""
        if not isinstance(result, Later):
            self._answer(message, lambda: result, doing, pack)
        elif isinstance(result.future, Future):
            result.future.add_done_callback(lambda done: self._answer(message, done.value, doing, pack))
        else:
            self._reply(message, FAILURE, no_future(result.future, doing), pack)

    def _answer(self, message: RpcMessage, find: Callable[[], Any], doing: str, pack: Pack) -> None:
        """Answer with what `find` returns, or with the error that it raises."""
        try:
            result = find()
        except Exception as error:
            return self._reply(message, FAILURE, error, pack)
        try:
            self._reply(message, ANSWER, result, pack)
        except Unsendable as error:
            what = f"the result of {doing or 'an operation'} on {self._worker.me.name!r}"
            self._reply(message, FAILURE, Unsendable(error.what, f"{what}{error.where}"), pack)
        except Exception as error:
            self._reply(message, FAILURE, error)

    def _reply(self, message: RpcMessage, kind: int, value: Any, pack: Pack = messages.no_load) -> None:
        src, worker = message.src, self._worker
        name_there = partial(worker.device_name, worker.worker(src))
        writer = RpcWriter(src, name_there, worker.trust)
        writer.value(value)
        writer.value(pack(writer, src))
        worker.send_if_there(src, kind, message.id, writer.parts())
        if not message.is_system:
            with self._lock:
                self.served[src] += 1


class Later(NamedTuple):
    """The result of a function that returns a Future for it."""

    future: Any


def no_future(result: Any, doing: str) -> RuntimeError:
    return RuntimeError(
        "Functions decorated with @rpc.async_function must return a torch.futures.Future object, "
        f"but got a {type(result).__name__} from {doing}"
    )


def call(worker: RpcWorker, src: int, asked: Any) -> tuple[str, Callable[[], Any]]:
    """CALL: (function, args, kwargs)."""
    function, args, kwargs = asked
    if not callable(function):
        raise UnknownName(f"{function!r} was called, which is no function")
    functions.check_may_be_called(function)
    name = functions.name_of(function)
    if functions.is_async(function):
        return name, lambda: Later(function(*args, **kwargs))
    return name, lambda: function(*args, **kwargs)


RUNNERS[CALL] = call
