"""torch's functions: run backward over several workers, and read the gradients of this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.distributed.autograd.contexts import Context, contexts_of
from minitorch_dist.distributed.autograd.passes import DistributedPass
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import RpcAgent, current
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.graph import Edge, edge_of
from minitorch_dist.tensors.tensor import Tensor


def backward(context_id: int, roots: Sequence[Any], retain_graph: bool = False) -> None:
    """Run backward from scalar roots, over all workers that take part in the context.

    Gradients are kept in the context, and no `.grad` changes.

    Args:
        context_id: The id that the context yielded.
        roots: Scalars, such as losses.
        retain_graph: Keep what the pass needs, for another one.

    Example:
        >>> import minitorch_dist.distributed.autograd as dist_autograd
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc("alone")
        ...     x = torch.tensor(2.0, requires_grad=True)
        ...     with dist_autograd.context() as number:
        ...         dist_autograd.backward(number, [x * x])
        ...         found = dist_autograd.get_gradients(number)[x].item(), x.grad
        ...     rpc.shutdown()
        ...     return found
        >>> sim.run(program, 1).results
        [(4.0, None)]
    """
    agent = current()
    ours = contexts_of(agent)
    context = ours.find(context_id)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    starts = [(_edge(root), np.ones_like(root.array)) for root in roots]
    context.check()
    number = ours.new_number()
    this = context.passes[number] = DistributedPass(ours, context, number, retain_graph, [edge for edge, _ in starts])
    over = this.engage()
    this.start(starts)
    try:
        over.wait()
        _demand_all_used(agent, context, number, this)
    except Exception as error:
        ours.fail(context, error)
        raise


def _edge(root: Tensor) -> Edge:
    if not isinstance(root, TensorBase):
        raise TypeError(f"roots are tensors, but got {type(root).__name__}")
    edge = edge_of(root)
    if edge is None or root.array.size != 1:
        raise RuntimeError(
            f"roots are scalars that require grad, but one of shape {list(root.array.shape)} "
            f"has requires_grad={root.requires_grad}"
        )
    return edge


def _demand_all_used(agent: RpcAgent, context: Context, number: int, this: DistributedPass) -> None:
    """The pass is over. If some messages never got gradients, say which.

    Most workers have said with their answers that they have no such message. The others are asked.
    """
    unused = [(agent.me.name, what) for what in this.unused()]
    asked: dict[int, Any] = {}
    seen, new = {agent.me.id, *this.complete}, context.workers | this.seen
    while new - seen:
        for worker in sorted(new - seen):
            seen.add(worker)
            what = context.id, number
            asked[worker] = agent.ask(agent.worker(worker), serve.UNUSED, what, "backward")
        for worker in list(asked):
            found, others = asked.pop(worker).wait()
            unused += [(agent.worker(worker).name, what) for what in found]
            new |= set(others)
    if unused:
        lines = "\n".join(f"  on {name!r}: {what}" for name, what in unused)
        raise RuntimeError(
            f"the backward pass of context {context.id} can never finish. Every message with tensors "
            "that require grad has to lead to the roots. These got no gradients back:\n"
            f"{lines}\nUse what these calls returned in the loss, or make them under no_grad() or "
            "outside of the context"
        )


def get_gradients(context_id: int) -> dict[Any, Any]:
    """The gradients that this worker's tensors have in a context.

    Args:
        context_id: The id that the context yielded.

    Returns:
        A dictionary from each tensor to its gradient.

    Example:
        >>> import minitorch_dist.distributed.autograd as dist_autograd
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc("alone")
        ...     with dist_autograd.context() as number:
        ...         found = dist_autograd.get_gradients(number)
        ...     rpc.shutdown()
        ...     return found
        >>> sim.run(program, 1).results
        [{}]
    """
    context = contexts_of(current()).find(context_id)
    context.check()
    with context.lock:
        return dict(context.grads)
