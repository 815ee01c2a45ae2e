"""A context: a forward and backward pass over several workers. Each of them remembers its part.

    worker a                                        worker b
    x ──► send ═══ call (context, message) ═══► recv ──► f(x) ──► send
    y ◄── recv ◄══ answer (context, message) ═══════════════════════╯

Every message with tensors that require grad leaves two nodes. The *send* node is on the worker that sent it,
and its edges lead to those tensors. The *recv* node is on the worker that received it, and made the tensors
there. A backward pass walks to a recv node, sends the gradients to the send node's worker, and goes on there.

A context belongs to the calling thread, and to the functions called from it, on any worker. When it ends, all
workers forget it.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock  # noqa: TID251 - guards the tables; nothing waits while holding it
from typing import Any, Final

from minitorch_dist.distributed.codec import DamagedEncoding
from minitorch_dist.distributed.codec.errors import shown
from minitorch_dist.distributed.exceptions import WorkerLost
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import RpcAgent, current
from minitorch_dist.distributed.rpc.message import context_id
from minitorch_dist.tensors.autograd.nodes import TorchNode
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.graph import Edge, Gradient, as_leaf_gradient

MEMORY: Final = 1024  # contexts
SHIFT: Final = 48  # the worker's number stands above so many bits, as in torch


class SendRpcBackward(TorchNode):
    """Tensors went out with a message; their gradients will come back to here."""

    __slots__ = ("message", "what")

    def __init__(self, edges: tuple[Edge | None, ...], message: int, what: str) -> None:
        super().__init__("SendRpcBackward", edges)
        self.outputs = max(1, len(edges))
        self.message, self.what = message, what

    def run(self, grads: Any) -> list[Gradient]:
        return list(grads)


class RecvRpcBackward(TorchNode):
    """Tensors came with a message; their gradients go back to its sender."""

    __slots__ = ("message", "src")

    def __init__(self, message: int, src: int, outputs: int) -> None:
        super().__init__("RecvRpcBackward", ())
        self.message, self.src, self.outputs = message, src, outputs


class Context:
    """A context, as one worker remembers it."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.lock = Lock()
        self.sends: dict[int, SendRpcBackward] = {}  # by the number of the message
        self.workers: set[int] = set()  # that we sent to in it, or heard from
        self.grads: dict[TensorBase, Any] = {}
        self.passes: dict[int, Any] = {}
        self.error: Exception | None = None  # why it has failed

    def check(self) -> None:
        if self.error is not None:
            raise self.error

    def add(self, leaf: TensorBase, grad: Array, is_ours: bool) -> None:
        """Add a gradient to one of our leaves. If the array is ours alone, it is kept and not copied."""
        with self.lock:
            present = self.grads.get(leaf)
            if present is None:
                kept = as_leaf_gradient(grad, leaf, is_ours)
                self.grads[leaf] = base.new(TensorBase.plain, kept, leaf.storage.device)
            else:
                present.array += grad
                present.storage.version += 1


class Contexts:
    """All contexts that one worker takes part in."""

    def __init__(self, agent: RpcAgent) -> None:
        self.agent, self.me = agent, agent.me.id
        self._numbers = itertools.count()
        self._messages = itertools.count()
        self.known: dict[int, Context] = {}
        self._ended: deque[int] = deque(maxlen=MEMORY)  # calls made in them may still come
        agent.when_lost.append(self._lost)

    def new_number(self) -> int:
        return (self.me << SHIFT) + next(self._messages)

    def begin(self) -> Context:
        id = (self.me << SHIFT) + next(self._numbers)
        made = self.known[id] = Context(id)
        return made

    def take_part(self, id: int) -> Context:
        """The context with this id. Another worker may have begun it."""
        found = self.known.get(id)
        if found is None:
            made = Context(id)
            found = made if id in self._ended else self.known.setdefault(id, made)
        return found

    def find(self, id: int) -> Context:
        found = self.known.get(id)
        if found is None:
            raise RuntimeError(f"Could not find autograd context with id: {id}")
        return found

    def end(self, id: int, told_by: int = -1) -> None:
        """Forget a context, and tell the workers that take part in it; `told_by` knows it already."""
        self._ended.append(id)
        found = self.known.pop(id, None)
        if found is None:
            return
        self._tell(found, serve.CLEAN, id, told_by)
        # Nodes know the context and passes know nodes: without this, each step's activations
        # would stay until Python looks for cycles, which large arrays do not make it do.
        found.sends.clear()
        found.passes.clear()

    def fail(self, context: Context, error: Exception, told_by: int = -1) -> None:
        """A context has failed: tell the workers that take part in it; `told_by` knows it already."""
        if context.error is None:
            context.error = error
            self._tell(context, serve.ABORT, (context.id, error), told_by)

    def _tell(self, context: Context, operation: int, what: Any, told_by: int) -> None:
        for worker in context.workers - {self.me, told_by} - self.agent.lost_workers.keys():
            self.agent.tell(self.agent.worker(worker), operation, what)

    def _lost(self, src: int, reason: str) -> None:
        for context in list(self.known.values()):
            if src in context.workers:
                name = self.agent.worker(src).name
                what = f"was worker {name!r}, which takes part in autograd context {context.id}"
                self.fail(context, WorkerLost(src, reason, what))


def contexts_of(agent: RpcAgent) -> Contexts:
    return agent.part(Contexts)


@contextmanager
def context() -> Iterator[int]:
    """Remember the calls within the block for a backward pass. It yields the context's id.

    Example:
        >>> import minitorch_dist.distributed.autograd as dist_autograd
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc(f"worker{dist.get_rank()}")
        ...     x = torch.ones(2, requires_grad=True)
        ...     with dist_autograd.context() as number:
        ...         y = rpc.rpc_sync(f"worker{1 - dist.get_rank()}", torch.mul, args=(x, 3.0))
        ...         dist_autograd.backward(number, [y.sum()])
        ...         found = dist_autograd.get_gradients(number)[x].tolist()
        ...     rpc.shutdown()
        ...     return found
        >>> sim.run(program, 2).results
        [[3.0, 3.0], [3.0, 3.0]]
    """
    if context_id.get() is not None:
        raise RuntimeError(
            f"Already have an autograd context id for this thread. ({context_id.get()}; contexts do not "
            "nest: end that one, or use it)"
        )
    ours = contexts_of(current())
    made = ours.begin()
    token = context_id.set(made.id)
    try:
        yield made.id
    finally:
        context_id.reset(token)
        ours.end(made.id)


def _clean(agent: RpcAgent, src: int, id: Any) -> None:
    contexts_of(agent).end(id, told_by=src)


def _abort(agent: RpcAgent, src: int, said: Any) -> None:
    id, error = said
    if not isinstance(error, Exception):
        raise DamagedEncoding(f"a context failed with {shown(error)}, which is not an exception")
    ours = contexts_of(agent)
    found = ours.known.get(id)
    if found is not None:
        ours.fail(found, error, told_by=src)


serve.HANDLERS.update({serve.CLEAN: _clean, serve.ABORT: _abort})
