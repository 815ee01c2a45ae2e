"""The owner's side of RRefs: what the other workers ask of it, and how it answers.

    REMOTE   id, fork, site, and what to run     make an object and keep it; the answer says that it is ordered
    FETCH    id                                  the object, as soon as it is there
    TYPE     id                                  its class
    METHOD   id, name, args, kwargs              what the method returns
    FORK     id, fork                            enter a fork of the sender
    DELETE   id, fork                            take a fork out
    ADOPT    fork                                (to a parent) the fork is entered

An object that could not be made keeps its exception. Each worker that asks for the object gets the exception.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch_dist.distributed.codec import DamagedEncoding
from minitorch_dist.distributed.codec.errors import shown
from minitorch_dist.distributed.rpc import functions, serve
from minitorch_dist.distributed.rpc.agent import RpcAgent
from minitorch_dist.distributed.rpc.rref_context import Id, OwnerRRef, context_of
from minitorch_dist.distributed.rpc.serve import Later
from minitorch_dist.futures import Future


def _remote(agent: RpcAgent, src: int, asked: Any) -> tuple[str, Callable[[], Any]]:
    """Make an object and keep it."""
    id, fork_id, site, operation, order = asked
    if operation not in (serve.CALL, serve.METHOD):
        raise DamagedEncoding(f"operation {shown(operation)} makes no object")
    fork = None if fork_id is None else Id(*fork_id)
    entry = context_of(agent).order(Id(*id), fork, src, str(site))
    try:
        doing, function = serve.known(serve.RUNNERS, operation)(agent, src, order)
    except Exception as error:
        _keep(entry, error=error)
        raise

    def run() -> Any:
        try:
            result = function()
            if isinstance(result, Later) and not isinstance(result.future, Future):
                raise serve.no_future(result.future, doing)
        except Exception as error:
            return _keep(entry, error=error)
        if isinstance(result, Later):
            return Later(result.future.then(lambda done: _kept_later(entry, done)))
        return _keep(entry, result)

    return doing, run


def _kept_later(entry: OwnerRRef, done: Future[Any]) -> None:
    try:
        _keep(entry, done.value())
    except Exception as error:
        _keep(entry, error=error)


def _keep(entry: OwnerRRef, value: Any = None, error: Exception | None = None) -> None:
    if not entry.future.done():
        if error is not None:
            entry.future.set_exception(error)
        else:
            entry.future.set_result(value)
    entry.context.drop_if_free(entry.id)


def _fetch(agent: RpcAgent, src: int, asked: Any) -> tuple[str, Callable[[], Any]]:
    entry = context_of(agent).expect(Id(*asked[0]))
    return "to_here", lambda: Later(entry.future)


def _type(agent: RpcAgent, src: int, asked: Any) -> tuple[str, Callable[[], Any]]:
    entry = context_of(agent).expect(Id(*asked[0]))
    return "_get_type", lambda: Later(entry.future.then(lambda done: type(done.value())))


def _method(agent: RpcAgent, src: int, asked: Any) -> tuple[str, Callable[[], Any]]:
    id, name, args, kwargs = asked
    entry = context_of(agent).expect(Id(*id))

    if type(name) is not str:
        raise DamagedEncoding(f"{shown(name)} is no name of a method")

    def run() -> Any:
        value = entry.future.wait()
        bound = functions.method(value, name)
        if functions.is_async(getattr(type(value), name)):
            return Later(bound(*args, **kwargs))
        return bound(*args, **kwargs)

    return name, run


def _fork(agent: RpcAgent, src: int, asked: Any) -> None:
    id, fork_id = asked
    context_of(agent).enter(Id(*id), Id(*fork_id), src)


def _delete(agent: RpcAgent, src: int, asked: Any) -> None:
    id, fork_id = asked
    context_of(agent).give_back(Id(*id), Id(*fork_id))


def _adopt(agent: RpcAgent, src: int, asked: Any) -> None:
    context_of(agent).adopted(Id(*asked))


serve.RUNNERS.update({serve.REMOTE: _remote, serve.FETCH: _fetch, serve.TYPE: _type, serve.METHOD: _method})
serve.HANDLERS.update({serve.FORK: _fork, serve.DELETE: _delete, serve.ADOPT: _adopt})
