"""How a call enters the graph: what it carries besides its values, while a context is on.

The load of a message is (context, message, places): which of the values that the codec wrote are
tensors that require grad. Their reader finds them at the same places, and hangs them onto a recv node.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch_dist.distributed.autograd import passes
from minitorch_dist.distributed.autograd.contexts import (
    Context,
    RecvRpcBackward,
    SendRpcBackward,
    contexts_of,
    present,
    standing_in,
)
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.codec import Damaged, Reader, Writer
from minitorch_dist.distributed.rpc import baggage
from minitorch_dist.distributed.rpc.agent import Agent, current
from minitorch_dist.tensors import grad_mode
from minitorch_dist.tensors.graph import adopt, edge_of
from minitorch_dist.tensors.tensor import Tensor


def _send(context: Context, writer: Writer, to: int, what: str) -> tuple[int, int, list[int]]:
    """A message goes out in this context."""
    context.check()
    context.workers.add(to)
    places, edges = [], []
    for place, value in enumerate(writer.kept):
        if type(value) is Tensor and value.requires_grad:
            places.append(place)
            edges.append(edge_of(value))
    if not places:
        return context.id, 0, []
    number = contexts_of(current()).new_number() + 1
    context.sends[number] = SendRpcBackward(tuple(edges), number, what)
    return context.id, number, places


def _receive(context: Context, message: int, places: list[int], reader: Reader, src: int) -> None:
    """A message came in this context: its tensors are what a recv node made."""
    context.workers.add(src)
    if not places:
        return
    node = RecvRpcBackward(message, src, len(places))
    for output, place in enumerate(places):
        tensor = reader.kept(place)
        if not isinstance(tensor, Tensor):
            raise Damaged(f"value {place} of a message is no tensor")
        adopt(tensor, node, output)


def _parsed(load: Any) -> tuple[int, int, list[int]]:
    match load:
        case (int(context), int(message), list(places)) if all(type(p) is int for p in places):
            return context, message, places
    raise Damaged(f"{load!r} is no load of autograd")


class Trip:
    """One call in a context, on the worker that is called."""

    def __init__(self, context: Context, agent: Agent) -> None:
        self._context, self._agent = context, agent  # which may be shut down before the answer

    def pack(self, writer: Writer, to: int) -> Any:
        if self._context.error is not None:
            return None
        return _send(self._context, writer, to, f"the answer to {self._context_name(to)}")

    def _context_name(self, to: int) -> str:
        agent = self._agent
        return f"a call that {agent.worker(to).name!r} made to {agent.me.name!r}"


class AutogradCarrier:
    """What `baggage` asks for."""

    def pack(self, writer: Writer, to: int) -> Any:
        id = present()
        if id is None or grad_mode.mode.get() != grad_mode.ON:
            return None
        agent = current()
        context = contexts_of(agent).find(id)
        what = f"the arguments of a call to {agent.worker(to).name!r} at {callsite()}"
        return _send(context, writer, to, what)

    @contextmanager
    def unpacked(self, load: Any, reader: Reader, src: int) -> Iterator[Trip]:
        id, message, places = _parsed(load)
        agent = current()
        context = contexts_of(agent).take_part(id)
        _receive(context, message, places, reader, src)
        with standing_in(id):
            yield Trip(context, agent)

    def back(self, load: Any, reader: Reader, src: int) -> None:
        id, message, places = _parsed(load)
        context = contexts_of(current()).known.get(id)
        if context is not None:  # else: it ended before the answer came
            _receive(context, message, places, reader, src)

    def backward(self, context_id: int, roots: list[Any], retain_graph: bool) -> None:
        passes.backward(context_id, roots, retain_graph)


baggage.let_carry(AutogradCarrier())
