"""The other side of a call: read what is asked for, run it, answer; each request at most once.

    REQUEST   CALL   function, args, kwargs    the answer is what it returns
              others see `operations`: what RRefs, autograd and shutdown ask of each other
    PROBE     what has become of a request?    its answer again, or STATE
    DONE      the answer has arrived           it need not be kept

Where messages can get lost or come twice, a request is remembered with its answer until the caller
says that it has it: a second copy is answered again, and not carried out again.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextvars import copy_context
from threading import Lock  # noqa: TID251 - guards one `+=`; nothing waits in here
from typing import Any, Protocol

from minitorch_dist.distributed.codec import Reader, UnknownName, Unsendable
from minitorch_dist.distributed.rpc import baggage, functions, operations
from minitorch_dist.distributed.rpc.crew import Job
from minitorch_dist.distributed.rpc.errors import RpcError
from minitorch_dist.distributed.rpc.frames import (
    ANSWER,
    DONE,
    FAILURE,
    KNOWN,
    ONE_WAY,
    PROBE,
    STATE,
    SYSTEM,
    Message,
)  # fmt: skip
from minitorch_dist.distributed.rpc.post import Post
from minitorch_dist.distributed.rpc.workers import WorkerInfo
from minitorch_dist.distributed.rpc.writing import DeviceNames, RpcWriter
from minitorch_dist.futures import Future

_log = logging.getLogger("minitorch_dist.distributed.rpc")


class Home(Protocol):
    """What serving needs of the agent."""

    me: WorkerInfo
    names: DeviceNames

    def worker(self, id: int) -> WorkerInfo: ...


class Request:
    """A request that is not answered yet, or whose answer may have to be sent again."""

    __slots__ = ("answer", "kind")

    def __init__(self) -> None:
        self.kind = -1
        self.answer: list[Any] | None = None


class Server:
    """Carries out requests."""

    def __init__(self, home: Home, post: Post) -> None:
        self._home, self._post = home, post
        self.served: Counter[int] = Counter()  # requests of users that were answered, by caller
        self._lock = Lock()
        self._remembered: dict[int, OrderedDict[int, Request]] = {}
        self._floors: dict[int, int] = {}

    # --------------------------------------------------------------------------- at most once

    def is_over(self, src: int, id: int) -> bool:
        """Whether a request was begun here, or is so old that its caller does not want it."""
        return id < self._floors.get(src, 0) or id in self._remembered.get(src, ())

    def _is_new(self, message: Message) -> bool:
        """Remember the request; False if it is a copy, which is answered again."""
        src, id = message.src, message.id
        known = self._remembered.setdefault(src, OrderedDict())
        if message.floor > self._floors.get(src, 0):
            self._floors[src] = message.floor
            for old in [old for old in known if old < message.floor]:
                del known[old]
        if id < self._floors.get(src, 0):
            return False
        request = known.get(id)
        if request is None:
            known[id] = Request()
            return True
        if request.answer:
            self._post.send_if_there(src, request.kind, id, request.answer)
        return False

    def _request(self, message: Message) -> Request | None:
        known = self._remembered.get(message.src)
        return None if known is None else known.get(message.id)

    def _probe(self, message: Message) -> None:
        """The caller asks what has become of its request."""
        request, src, id = self._request(message), message.src, message.id
        if request is None or request.answer is None:
            self._post.send_if_there(src, STATE, id, flags=0 if request is None else KNOWN)
        elif request.answer:
            self._post.send_if_there(src, request.kind, id, request.answer)

    def _done(self, message: Message) -> None:
        """The caller has the answer: only that there was such a request is remembered."""
        request = self._request(message)
        if request is not None:
            request.answer = []

    def owes(self) -> bool:
        """Whether some caller has not said yet that it has its answer."""
        return any(
            r.answer for known in list(self._remembered.values()) for r in list(known.values())
        )

    def forget(self, src: int) -> None:
        self._remembered.pop(src, None)
        self._floors.pop(src, None)  # who comes again under its number counts from 1

    # ------------------------------------------------------------------------------- carrying out

    def take(self, message: Message) -> Job | None:
        """What there is to run for what a caller says; None if nothing is, or all is done already."""
        if message.kind == PROBE:
            self._probe(message)
        elif message.kind == DONE:
            self._done(message)
        elif self._post.may_lose and not self._is_new(message):
            pass  # a copy
        elif message.flags & SYSTEM:
            self._system(message)
        else:
            return lambda: copy_context().run(self._serve, message)
        return None

    def _system(self, message: Message) -> None:
        """An operation of our own. It does not wait, and runs nothing of the user's."""
        try:
            reader = Reader(message.parts[0], message.parts[1:])
            handler = operations.find(reader.byte())
            result = handler(self._home, message.src, reader.value())
        except Exception as error:
            if message.flags & ONE_WAY:
                _log.exception("what worker %d said could not be heeded", message.src)
            else:
                self._fail(message, error)
            return
        if message.flags & ONE_WAY:
            return
        if isinstance(result, Future):
            result.add_done_callback(lambda future: self._settle(message, future))
        else:
            self._answer(message, result)

    def _serve(self, message: Message) -> None:
        doing, result = "a request", None
        trip: Any = baggage.NONE
        try:
            reader = Reader(message.parts[0], message.parts[1:])
            runner = operations.runner(reader.byte())
            asked, load = reader.value(), reader.value()
            reader.end()
            doing, function = runner(self._home, message.src, asked)
            with baggage.unpacked(load, reader, message.src) as trip:
                result = function()
        except Exception as error:
            self._fail(message, error, trip)
            return
        except BaseException as error:  # sys.exit, or an interrupt: our thread stays
            name = self._home.me.name
            self._fail(message, RpcError(f"{doing} on {name!r} ended with {error!r}"), trip)
            return
        if isinstance(result, Later):
            future = result.future
            if not isinstance(future, Future):
                self._fail(
                    message,
                    RuntimeError(
                        "Functions decorated with @rpc.async_function must return a "
                        f"torch.futures.Future object, but got a {type(future).__name__} from {doing}"
                    ),
                    trip,
                )
                return
            future.add_done_callback(lambda done: self._settle(message, done, doing, trip))
        else:
            self._answer(message, result, doing, trip)

    def _settle(
        self, message: Message, future: Future[Any], doing: str = "", trip: Any = baggage.NONE
    ) -> None:
        try:
            result = future.value()
        except Exception as error:
            self._fail(message, error, trip)
        else:
            self._answer(message, result, doing, trip)

    def _answer(
        self, message: Message, result: Any, doing: str = "", trip: Any = baggage.NONE
    ) -> None:
        def write(writer: Any) -> None:
            writer.value(result)
            writer.value(trip.pack(writer, message.src))

        try:
            self._reply(message, ANSWER, write)
        except Unsendable as error:
            what = f"the result of {doing or 'an operation'} on {self._home.me.name!r}"
            self._fail(message, Unsendable(error.what, f"{what}{error.where}"), trip)
        except Exception as error:
            self._fail(message, error)

    def _fail(self, message: Message, error: BaseException, trip: Any = baggage.NONE) -> None:
        def write(writer: Any) -> None:
            writer.value(error)
            writer.value(trip.pack(writer, message.src))

        self._reply(message, FAILURE, write)

    def _reply(self, message: Message, kind: int, write: Callable[[Any], None]) -> None:
        src, names = message.src, self._home.names
        writer = RpcWriter(src, names.at(self._home.worker(src), is_answer=True))
        write(writer)
        writer.depart()
        parts = self._post.sealed([writer.out, *writer.buffers])
        self._post.send_if_there(src, kind, message.id, parts)
        if not message.flags & SYSTEM:
            with self._lock:
                self.served[src] += 1
        if self._post.may_lose:
            request = self._request(message)
            if request is not None and request.answer is None:
                request.kind, request.answer = kind, parts

    def __repr__(self) -> str:
        kept = sum(len(known) for known in self._remembered.values())
        return f"<Server, {self.served.total()} requests served, {kept} remembered>"


class Later:
    """The result of a function that returns a Future for what it will be."""

    __slots__ = ("future",)

    def __init__(self, future: Any) -> None:
        self.future = future


def call(home: Any, src: int, asked: Any) -> tuple[str, Callable[[], Any]]:
    """CALL: (function, args, kwargs)."""
    function, args, kwargs = asked
    if not callable(function):
        raise UnknownName(f"{function!r} was called, which is no function")
    name = functions.name_of(function)
    if functions.is_async(function):
        return name, lambda: Later(function(*args, **kwargs))
    return name, lambda: function(*args, **kwargs)


operations.let_run(operations.CALL, call)
