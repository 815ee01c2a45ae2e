"""An optimizer whose parameters live on many workers: each owner steps its own.

    opt = DistributedOptimizer(optim.SGD, model.parameter_rrefs(), lr=0.05)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [loss])
        opt.step(context_id)

`step` asks all owners at once to step with the gradients that their parameters have in the context. On one
worker, one step comes after the other. Several trainers may share parameters. If one of them steps between the
forward and the backward pass of another, that backward pass raises an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist import nn, optim
from minitorch_dist.distributed import autograd, rpc
from minitorch_dist.distributed.rpc.agent import RpcAgent, current
from minitorch_dist.tensors.core.base import TensorBase


def _turn(agent: RpcAgent) -> Any:
    """Whose turn it is to step on this worker."""
    return agent.clock.condition("another step")


@rpc.functions.register
class _LocalOptimizer:
    """The optimizer of one owner's parameters."""

    def __init__(self, kind: Any, params: Sequence[Any], args: Any, kwargs: Any) -> None:
        self._params: list[TensorBase] = [rref.local_value() for rref in params]
        self._optimizer = kind(self._params, *args, **kwargs)

    def step(self, context_id: int) -> None:
        grads = autograd.get_gradients(context_id)
        with current().part(_turn):
            for param in self._params:
                grad = grads.get(param)
                if grad is not None:
                    param.grad = grad
            self._optimizer.step()


def _register_ours() -> None:
    """Let peers make modules of `nn` and optimizers here, and call their methods."""
    for kind in (*vars(nn).values(), *vars(optim).values(), optim.Optimizer):
        if isinstance(kind, type) and issubclass(kind, (nn.Module, optim.Optimizer)):
            for parent in kind.__mro__:  # in which its methods are written
                if parent.__module__.startswith("minitorch_dist."):
                    rpc.functions.register(parent)


_register_ours()
rpc.functions.register(rpc.get_worker_info)


class DistributedOptimizer:
    """A local optimizer of class `optimizer_class` on each owner of the parameters.

    Args:
        optimizer_class: The class of the local optimizers, such as `optim.SGD`.
        params_rref: References to parameters.
        *args: Go to the local optimizers.
        **kwargs: Go to the local optimizers, such as `lr`.

    Example:
        >>> import minitorch_dist.distributed.autograd as dist_autograd
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc("alone")
        ...     x = torch.tensor([2.0], requires_grad=True)
        ...     optimizer = dist.optim.DistributedOptimizer(optim.SGD, [rpc.RRef(x)], lr=0.5)
        ...     with dist_autograd.context() as number:
        ...         dist_autograd.backward(number, [x.sum()])
        ...         optimizer.step(number)
        ...     rpc.shutdown()
        ...     return x.item()
        >>> sim.run(program, 1).results
        [1.5]
    """

    def __init__(self, optimizer_class: Any, params_rref: Any, *args: Any, **kwargs: Any) -> None:
        owned: dict[rpc.WorkerInfo, list[Any]] = {}
        for rref in params_rref:
            owned.setdefault(rref.owner(), []).append(rref)
        self.remote_optimizers = [
            rpc.remote(owner, _LocalOptimizer, (optimizer_class, params, args, kwargs))
            for owner, params in owned.items()
        ]
        for one in self.remote_optimizers:
            one._get_type()  # raises here if it could not be made

    def step(self, context_id: int) -> None:
        """Step all parameters with the gradients of a context. It returns when all steps are done."""
        autograd.contexts.contexts_of(current()).find(context_id)
        steps = [one.rpc_async().step(context_id) for one in self.remote_optimizers]
        for step in steps:  # one by one: each is waited for in the thread that receives the answers
            step.wait()
