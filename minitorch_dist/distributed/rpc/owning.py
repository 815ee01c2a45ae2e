"""What an owner does with its objects when others ask: make one, give a copy, call a method of it.

    REMOTE   id, fork, site, and what to run     keep what comes of it; the answer says that it is ordered
    FETCH    id                                  the object, as soon as it is there
    TYPE     id                                  its class
    METHOD   id, name, args, kwargs              what the method returns

An object that failed to come about keeps its exception, and whoever asks for it gets that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch_dist.distributed.rpc import baggage, functions, operations
from minitorch_dist.distributed.rpc.agent import Agent
from minitorch_dist.distributed.rpc.references import Id, Owned, book_of
from minitorch_dist.distributed.rpc.serving import Later
from minitorch_dist.futures import Future


def _remote(agent: Agent, src: int, said: Any) -> tuple[str, Callable[[], Any]]:
    """Make an object and keep it."""
    id, fork_id, site, operation, asked = said
    fork = None if fork_id is None else Id(*fork_id)
    entry = book_of(agent).order(Id(*id), fork, src, str(site))
    try:
        doing, function = operations.runner(operation)(agent, src, asked)
    except Exception as error:
        _keep(entry, error=error)
        raise

    def run() -> Any:
        try:
            result = function()
        except Exception as error:
            _keep(entry, error=error)
            return None
        if isinstance(result, Later) and isinstance(result.future, Future):
            return Later(result.future.then(lambda done: _kept_later(entry, done)))
        _keep(entry, result)
        return None

    return doing, run


def _kept_later(entry: Owned, done: Future[Any]) -> None:
    try:
        _keep(entry, done.value())
    except Exception as error:
        _keep(entry, error=error)


def _keep(entry: Owned, value: Any = None, error: Exception | None = None) -> None:
    if not entry.future.done():
        if error is not None:
            entry.future.set_exception(error)
        else:
            entry.future.set_result(value)
    entry.book.drop_if_free(entry.id)


def _fetch(agent: Agent, src: int, said: Any) -> tuple[str, Callable[[], Any]]:
    entry = book_of(agent).expect(Id(*said[0]))
    return "to_here", lambda: Later(entry.future)


def _type(agent: Agent, src: int, said: Any) -> tuple[str, Callable[[], Any]]:
    entry = book_of(agent).expect(Id(*said[0]))
    return "_get_type", lambda: Later(entry.future.then(lambda done: type(done.value())))


def _method(agent: Agent, src: int, said: Any) -> tuple[str, Callable[[], Any]]:
    id, name, args, kwargs = said
    entry = book_of(agent).expect(Id(*id))

    def run() -> Any:
        value = entry.future.wait()
        function = getattr(
            type(value), name
        )  # as in torch: what only the instance has does not count
        bound = getattr(value, name)
        if functions.is_async(function):
            return Later(bound(*args, **kwargs))
        return bound(*args, **kwargs)

    return str(name), run


def backward(rref: Any, context_id: int, retain_graph: bool) -> None:
    """On the owner: the tensor's own backward, or that of a context of distributed autograd."""
    value = rref.local_value()
    if context_id == -1:
        value.backward(retain_graph=retain_graph)
    else:
        baggage.opened().backward(context_id, [value], retain_graph)


operations.let_run(operations.REMOTE, _remote)
operations.let_run(operations.FETCH, _fetch)
operations.let_run(operations.TYPE, _type)
operations.let_run(operations.METHOD, _method)
