"""How a call enters the graph: what its messages carry besides their values, in a context.

The load of a message is (context, message, places). The places say which of the values that the codec wrote
are tensors that require grad. The reader finds them at the same places, and makes them the outputs of a
recv node.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from minitorch_dist.distributed.autograd.contexts import (
    Context,
    Contexts,
    RecvRpcBackward,
    SendRpcBackward,
    contexts_of,
)
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.codec import DamagedEncoding, Reader, Writer
from minitorch_dist.distributed.codec.errors import shown
from minitorch_dist.distributed.rpc import message as messages
from minitorch_dist.distributed.rpc.agent import RpcAgent, current
from minitorch_dist.tensors.core import grad_mode
from minitorch_dist.tensors.core.graph import adopt, edge_of
from minitorch_dist.tensors.tensor import Tensor


def _send(ours: Contexts, context: Context, writer: Writer, to: int, what: str) -> tuple[int, int, list[int]]:
    """A message goes out in a context. `what` says in words which one it is."""
    context.check()
    context.workers.add(to)
    places, edges = [], []
    for place, value in enumerate(writer.kept):
        if type(value) is Tensor and value.requires_grad:
            places.append(place)
            edges.append(edge_of(value))
    if not places:
        return context.id, 0, []
    number = ours.new_number() + 1
    context.sends[number] = SendRpcBackward(tuple(edges), number, what)
    return context.id, number, places


def _receive(context: Context, message: int, places: list[int], reader: Reader, src: int) -> None:
    """A message has come in a context: its tensors are the outputs of a recv node."""
    context.workers.add(src)
    if not places:
        return
    node = RecvRpcBackward(message, src, len(places))
    for output, place in enumerate(places):
        tensor = reader.kept(place)
        if not isinstance(tensor, Tensor):
            raise DamagedEncoding(f"value {place} of a message is not a tensor")
        adopt(tensor, node, output)


def _parsed(load: Any) -> tuple[int, int, list[int]]:
    match load:
        case (int(context), int(message), list(places)) if all(type(p) is int for p in places):
            return context, message, places
    raise DamagedEncoding(f"{shown(load)} is no load of autograd")


def _pack(writer: Writer, to: int, id: int) -> Any:
    """The load of a call that is made in a context."""
    if grad_mode.mode.get() != grad_mode.ON:
        return None
    agent = current()
    ours = contexts_of(agent)
    what = f"the arguments of a call to {agent.worker(to).name!r} at {callsite()}"
    return _send(ours, ours.find(id), writer, to, what)


def _enter(load: Any, reader: Reader, src: int) -> messages.Pack:
    """A call has come that was made in a context: its function runs in the context, too."""
    id, message, places = _parsed(load)
    agent = current()
    context = contexts_of(agent).take_part(id)
    _receive(context, message, places, reader, src)
    messages.context_id.set(id)  # each function runs in a copy of the thread's variables
    return partial(_pack_answer, agent, context)


def _pack_answer(agent: RpcAgent, context: Context, writer: Writer, to: int) -> Any:
    """The load of an answer. RPC may be shut down by now, so nobody asks for the current agent."""
    if context.error is not None:
        return None
    what = f"the answer to a call that {agent.worker(to).name!r} made to {agent.me.name!r}"
    return _send(contexts_of(agent), context, writer, to, what)


def _back(load: Any, reader: Reader, src: int) -> None:
    id, message, places = _parsed(load)
    context = contexts_of(current()).known.get(id)
    if context is not None:  # else: it ended before the answer came
        _receive(context, message, places, reader, src)


messages.autograd[:] = [messages.AutogradHooks(_pack, _enter, _back)]
