"""A reference to an object that lives on some worker, and the ways to use it.

    rref = rpc.remote("ps", ParameterServer, (…))        make an object there
    rref.to_here()                                       a copy of it
    rref.rpc_sync().step(x)                              call a method of it, there

`rref_context` keeps the object alive. `rref_owner` is what the owner does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar, cast

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.codec import DamagedEncoding, Reader, Unsendable, Writer, others
from minitorch_dist.distributed.codec.errors import shown
from minitorch_dist.distributed.exceptions import RpcTimeout
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import current
from minitorch_dist.distributed.rpc.call import UNSET_RPC_TIMEOUT, RpcFuture, Timeout
from minitorch_dist.distributed.rpc.members import WorkerInfo
from minitorch_dist.distributed.rpc.message import RpcReader, RpcWriter
from minitorch_dist.distributed.rpc.remote_calls import in_words, request
from minitorch_dist.distributed.rpc.rref_context import Id, OwnerRRef, UserRRef, context_of
from minitorch_dist.inventory.not_offered import tells_what_is_gone

T = TypeVar("T", covariant=True)  # a list of references to two kinds of modules is one to modules
NUMBER: Final = 2  # among the types that the codec was taught
NOT_CREATED: Final = (
    "RRef creation via rpc.remote() timed out, and it is possible that the RRef on the owner node does not exist"
)


@tells_what_is_gone
class RRef(Generic[T]):
    """A reference to an object. `RRef(value)` refers to one of this worker, `rpc.remote` makes one elsewhere.

    Args:
        value: The object.
        type_hint: Accepted as in torch; it changes nothing.

    Example:
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc(f"worker{dist.get_rank()}")
        ...     mine = rpc.RRef([1, 2, 3])
        ...     found = mine.is_owner(), mine.local_value()
        ...     rpc.shutdown()
        ...     return found
        >>> sim.run(program, 2).results[1]
        (True, [1, 2, 3])
    """

    __slots__ = ("__weakref__", "_held")
    _held: OwnerRRef | UserRRef

    def __init__(self, value: T, type_hint: Any = None) -> None:
        context = context_of(current())
        self._held = context.own(context.new_id(), callsite())
        self._held.handles += 1
        self._held.future.set_result(value)

    @classmethod
    def _of(cls, held: OwnerRRef | UserRRef) -> RRef[Any]:
        made = object.__new__(cls)
        made._held = held
        return made

    def __del__(self) -> None:
        held = getattr(self, "_held", None)
        if held is not None:
            held.context.garbage.append(held)

    # ----------------------------------------------------------------------------------- asking

    def is_owner(self) -> bool:
        return isinstance(self._held, OwnerRRef)

    def owner(self) -> WorkerInfo:
        """The worker that has the object.

        Returns:
            Its WorkerInfo, with `name` and `id`.

        Example:
            >>> from minitorch_dist.distributed import rpc
            >>> def program():
            ...     rpc.init_rpc(f"worker{dist.get_rank()}")
            ...     reference = rpc.remote("worker1", list)
            ...     name = reference.owner().name
            ...     reference.to_here()
            ...     rpc.shutdown()
            ...     return name
            >>> sim.run(program, 2).results[0]
            'worker1'
        """
        return self._held.context.agent.worker(self._held.owner)

    def owner_name(self) -> str:
        return self.owner().name

    def confirmed_by_owner(self) -> bool:
        return self._held.confirmed

    def local_value(self) -> T:
        """The object itself, on its owner.

        Raises:
            RuntimeError: This worker is not its owner.

        Example:
            >>> from minitorch_dist.distributed import rpc
            >>> def program():
            ...     rpc.init_rpc(f"worker{dist.get_rank()}")
            ...     found = rpc.RRef("mine").local_value()
            ...     rpc.shutdown()
            ...     return found
            >>> sim.run(program, 2).results
            ['mine', 'mine']
        """
        if isinstance(self._held, UserRRef):
            raise RuntimeError(
                f"For RRef {self!r}, can't call localValue() on user "
                f"{self._held.context.agent.me}. Call it on owner {self.owner()}"
            )
        return cast("T", self._held.future.wait())

    def to_here(self, timeout: Timeout = UNSET_RPC_TIMEOUT) -> T:
        """A copy of the object. On its owner it is the object itself.

        Args:
            timeout: The time limit in seconds; -1 is that of `init_rpc`.

        Returns:
            The object.

        Raises:
            RpcTimeout: It did not come in time.

        Example:
            >>> from minitorch_dist.distributed import rpc
            >>> def program():
            ...     rpc.init_rpc(f"worker{dist.get_rank()}")
            ...     found = rpc.remote("worker1", dict, kwargs={"a": 1}).to_here()
            ...     rpc.shutdown()
            ...     return found
            >>> sim.run(program, 2).results[0]
            {'a': 1}
        """
        if isinstance(self._held, OwnerRRef):
            return self.local_value()
        return cast("T", self._call(serve.FETCH, (None,), "to_here", timeout).wait())

    def _get_type(self, timeout: Timeout = UNSET_RPC_TIMEOUT) -> Any:
        """The object's class."""
        if isinstance(self._held, UserRRef):
            return self._call(serve.TYPE, (None,), "_get_type", timeout).wait()
        return type(self.local_value())

    def _asked(self, what: tuple[Any, ...]) -> tuple[Any, ...]:
        """The request to the owner to do something with the object, which is there."""
        if self._held.error is not None:
            raise self._held.error
        return tuple(self._held.id), *what

    def _call(self, operation: int, what: tuple[Any, ...], doing: str, timeout: Timeout) -> RpcFuture[Any]:
        """Ask the owner to do something with the object."""
        asked, agent = self._asked(what), self._held.context.agent
        try:
            return agent.call(self.owner(), operation, asked, doing, timeout, keeps=self)
        except Unsendable as error:
            raise in_words(error, asked) from None

    # ------------------------------------------------------------------------------------ using

    def rpc_sync(self, timeout: Timeout = UNSET_RPC_TIMEOUT) -> Proxy:
        """A proxy: `rref.rpc_sync().method(…)` calls the method on the owner and waits."""
        return Proxy(self, "rpc_sync", timeout)

    def rpc_async(self, timeout: Timeout = UNSET_RPC_TIMEOUT) -> Proxy:
        """A proxy whose methods return a Future."""
        return Proxy(self, "rpc_async", timeout)

    def remote(self, timeout: Timeout = UNSET_RPC_TIMEOUT) -> Proxy:
        """A proxy whose methods return an RRef to their result."""
        return Proxy(self, "remote", timeout)

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle rref in python pickler, rref can only be pickled when using RPC")

    def __repr__(self) -> str:
        held = self._held
        if isinstance(held, UserRRef):
            return f"UserRRef(RRefId = {held.id!r}, ForkId = {held.fork_id!r})"
        return f"OwnerRRef({held.id!r})"


class Proxy:
    """Methods of a remote object."""

    def __init__(self, rref: RRef[Any], how: str, timeout: Timeout) -> None:
        self._rref, self._how, self._timeout = rref, how, timeout

    def __getattr__(self, name: str) -> Callable[..., Any]:
        rref, timeout, how = self._rref, self._timeout, self._how

        def method(*args: Any, **kwargs: Any) -> Any:
            if how == "remote":
                asked = rref._asked((name, args, kwargs))
                return make(rref.owner(), serve.METHOD, asked, name, timeout)
            future = rref._call(serve.METHOD, (name, args, kwargs), name, timeout)
            return future.wait() if how == "rpc_sync" else future

        return method


def remote(
    to: str | int | WorkerInfo,
    func: Callable[..., T],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    timeout: Timeout = UNSET_RPC_TIMEOUT,
) -> RRef[T]:
    """Make an object on a worker, with a function or a class.

    Args:
        to: The worker: its name, its number, or its WorkerInfo.
        func: The function or class, which the worker can import.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        timeout: The time limit in seconds; -1 is that of `init_rpc`.

    Returns:
        A reference to the object, at once.

    Example:
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc(f"worker{dist.get_rank()}")
        ...     reference = rpc.remote("worker1", torch.full, args=((2,), 7.0))
        ...     found = reference.to_here().tolist()
        ...     rpc.shutdown()
        ...     return found
        >>> sim.run(program, 2).results[0]
        [7.0, 7.0]
    """
    worker = current().workers.find(to)
    return make(worker, serve.CALL, request(func, args, kwargs), func, timeout)


def make(worker: WorkerInfo, operation: int, asked: tuple[Any, ...], doing: object, timeout: Timeout) -> RRef[Any]:
    """Order an operation on a worker. The result is a reference to what will come of it."""
    agent, site = current(), callsite()
    context = context_of(agent)
    id = context.new_id()
    held: OwnerRRef | UserRRef
    if worker.id == agent.me.id:
        held, fork_id = context.own(id, site), None
        held.handles += 1
    else:
        fork_id = context.new_id()
        held = context.forks[fork_id] = UserRRef(context, worker.id, id, fork_id, site)
    rref = RRef._of(held)

    order = tuple(id), None if fork_id is None else tuple(fork_id), site, operation, asked

    def settled(_: Any, error: Exception | None) -> None:
        if isinstance(error, RpcTimeout):
            error = RpcTimeout(f"{NOT_CREATED}: {error}")
        if isinstance(held, UserRRef):
            held.error = held.error or error
            held.confirmed = True
            context.settle(held)
        elif error is not None and not held.future.done():
            held.future.set_exception(error)

    try:
        agent.call(worker, serve.REMOTE, order, doing, timeout, settled, held, site)
    except BaseException as error:  # it could not be sent
        if fork_id is not None:
            context.forks.pop(fork_id, None)
        if isinstance(error, Unsendable):
            raise in_words(error, asked, f"[{len(order) - 1}]") from None
        raise
    return rref


# ------------------------------------------------------------------------------------ travelling


def _write(writer: Writer, rref: RRef[Any]) -> None:
    if not isinstance(writer, RpcWriter):
        raise Unsendable("an RRef can only be sent by RPC")
    held = rref._held
    if isinstance(held.error, RpcTimeout):
        raise held.error  # its owner may never hear of it
    context, fork_id, to = held.context, held.context.new_id(), writer.to
    writer.note(lambda: context.commit(to, held, fork_id))
    writer.value((held.owner, tuple(held.id), tuple(fork_id), context.me))


def _read(reader: Reader) -> RRef[Any]:
    if not isinstance(reader, RpcReader):
        raise DamagedEncoding("a reference to an object, which only comes by RPC")
    match reader.value():
        case (int(owner), (int(a), int(b)), (int(c), int(d)), int(parent)):
            agent = current()
            if owner not in agent.workers.by_id or parent not in agent.workers.by_id:
                raise DamagedEncoding(f"a reference to an object of worker {owner}, from worker {parent}")
            return RRef._of(context_of(agent).arrive(owner, Id(a, b), Id(c, d), parent))
        case other:
            raise DamagedEncoding(f"{shown(other)} is no reference")


others.register_type(RRef, NUMBER, _write, _read)
