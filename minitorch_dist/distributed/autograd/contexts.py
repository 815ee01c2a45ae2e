"""A context: one forward and backward over several workers, and what each of them remembers of it.

    worker a                                        worker b
    x ──► send ═══ call (context, message) ═══► recv ──► f(x) ──► send
    y ◄── recv ◄══ answer (context, message) ═══════════════════════╯

Every message with tensors that require grad leaves a *send* node where it set out, whose edges lead to
those tensors, and a *recv* node where it arrived, which made the tensors there. A backward pass walks
to a recv node, sends the gradients to its send node's worker, and goes on there.

The context is that of the calling thread, and of functions called from it, on any worker. When it ends
it is forgotten everywhere.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock  # noqa: TID251 - guards the tables; nothing waits while holding it
from typing import Any, Final

from minitorch_dist.distributed.rpc import operations
from minitorch_dist.distributed.rpc.agent import Agent, current
from minitorch_dist.distributed.rpc.errors import WorkerLost
from minitorch_dist.tensors import base, engine
from minitorch_dist.tensors.base import Array, TensorBase
from minitorch_dist.tensors.nodes import Edge, Gradient, Node

KEY: Final = "autograd"
MEMORY: Final = 1024  # contexts
SHIFT: Final = 48  # the worker's number stands above so many bits, as in torch

_present: ContextVar[int | None] = ContextVar("distributed autograd context", default=None)


class SendRpcBackward(Node):
    """Tensors went out with a message; their gradients will come back to here."""

    __slots__ = ("message", "what")

    def __init__(self, edges: tuple[Edge | None, ...], message: int, what: str) -> None:
        super().__init__("SendRpcBackward", edges)
        self.outputs = max(1, len(edges))
        self.message, self.what = message, what

    def run(self, grads: Any, is_asked: Any = None) -> list[Gradient]:
        return list(grads)


class RecvRpcBackward(Node):
    """Tensors came with a message; their gradients go back to whence they came."""

    __slots__ = ("message", "src")

    def __init__(self, message: int, src: int, outputs: int) -> None:
        super().__init__("RecvRpcBackward", ())
        self.message, self.src, self.outputs = message, src, outputs


class Context:
    """What one worker remembers of a context."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.lock = Lock()
        self.sends: dict[int, SendRpcBackward] = {}  # by the number of the message
        self.workers: set[int] = set()  # whom we sent to in it, or heard of
        self.grads: dict[TensorBase, Any] = {}
        self.passes: dict[int, Any] = {}
        self.error: Exception | None = None  # why it has failed

    def check(self) -> None:
        if self.error is not None:
            raise self.error

    def add(self, leaf: TensorBase, grad: Array, is_ours: bool) -> None:
        """Collect a gradient of one of our leaves: this very array, if nobody else has it."""
        with self.lock:
            present = self.grads.get(leaf)
            if present is None:
                kept = engine.settled(grad, leaf, is_ours)
                self.grads[leaf] = base.new(leaf.plain, kept, leaf.storage.device)
            else:
                present.array += grad
                present.storage.version += 1

    def __repr__(self) -> str:
        state = f", failed: {self.error}" if self.error is not None else ""
        return (
            f"<Context {self.id}: {len(self.sends)} messages sent, {len(self.grads)} gradients, with "
            f"workers {sorted(self.workers)}{state}>"
        )


class Contexts:
    """All contexts that one worker takes part in."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.me = agent, agent.me.id
        self._numbers = itertools.count(agent.first_number)
        self._messages = itertools.count(agent.first_number)
        self.known: dict[int, Context] = {}
        self._ended: deque[int] = deque(maxlen=MEMORY)  # calls of theirs may still come
        agent.extras[KEY] = self
        agent.extras.setdefault("when_lost", []).append(self._lost)

    def new_number(self) -> int:
        return (self.me << SHIFT) + next(self._messages)

    def begin(self) -> Context:
        id = (self.me << SHIFT) + next(self._numbers)
        made = self.known[id] = Context(id)
        return made

    def take_part(self, id: int) -> Context:
        """The context with this number, which another worker may have begun."""
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

    def end(self, id: int) -> None:
        """Forget a context, here and with all whom we drew into it."""
        self._ended.append(id)
        found = self.known.pop(id, None)
        if found is None:
            return
        for worker in found.workers:
            if worker != self.me and worker not in self.agent.lost_workers:
                self.tell(worker, operations.CLEAN, id)
        # Nodes know the context and passes know nodes: without this, each step's activations
        # would stay until Python looks for cycles, which large arrays do not make it do.
        found.sends.clear()
        found.passes.clear()

    def fail(self, context: Context, error: Exception, but: int = -1) -> None:
        """It has failed: so it has for all who take part in it."""
        if context.error is not None:
            return
        context.error = error
        for worker in context.workers - {self.me, but}:
            if worker not in self.agent.lost_workers:
                self.tell(worker, operations.ABORT, (context.id, error))

    def tell(self, worker: int, operation: int, what: Any) -> None:
        self.agent.tell(self.agent.worker(worker), operation, what)

    def _lost(self, src: int, reason: str) -> None:
        for context in list(self.known.values()):
            if src in context.workers:
                name = self.agent.worker(src).name
                what = f"was worker {name!r}, which takes part in autograd context {context.id}"
                self.fail(context, WorkerLost(src, reason, what))

    def __repr__(self) -> str:
        return f"<Contexts of {self.agent.me.name!r}: {list(self.known.values())}>"


def contexts_of(agent: Agent) -> Contexts:
    found = agent.extras.get(KEY)
    return found if isinstance(found, Contexts) else Contexts(agent)


def present() -> int | None:
    """The context of the calling thread."""
    return _present.get()


@contextmanager
def standing_in(id: int) -> Iterator[None]:
    token = _present.set(id)
    try:
        yield
    finally:
        _present.reset(token)


@contextmanager
def context() -> Iterator[int]:
    """Calls within the block are remembered, for a backward pass. Yields the context's id."""
    if _present.get() is not None:
        raise RuntimeError(
            f"Already have an autograd context id for this thread. ({_present.get()}; contexts do not "
            "nest: end that one, or use it)"
        )
    ours = contexts_of(current())
    made = ours.begin()
    try:
        with standing_in(made.id):
            yield made.id
    finally:
        ours.end(made.id)


def _get_debug_info() -> dict[str, int]:
    """torch's counts of this worker."""
    known = list(contexts_of(current()).known.values())
    running = sum(1 for found in known for one in list(found.passes.values()) if one.is_on)
    return {"num_autograd_contexts": len(known), "num_current_backward_passes": running}


def _clean(agent: Agent, src: int, id: Any) -> None:
    contexts_of(agent).end(id)


def _abort(agent: Agent, src: int, said: Any) -> None:
    id, error = said
    ours = contexts_of(agent)
    found = ours.known.get(id)
    if found is not None:
        ours.fail(found, error, but=src)


operations.let_handle(operations.CLEAN, _clean)
operations.let_handle(operations.ABORT, _abort)
