"""An optimizer whose parameters live on many workers: each owner steps its own.

    opt = DistributedOptimizer(optim.SGD, model.parameter_rrefs(), lr=0.05)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [loss])
        opt.step(context_id)

`step` asks every owner, at once, to step with the gradients that its parameters have in the context.
Steps on one worker come one after the other; when several trainers share parameters, one of them may
still step between the forward and the backward pass of another, which the backward pass then refuses:
the error says whose step it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.distributed import autograd, rpc
from minitorch_dist.distributed.rpc.agent import current
from minitorch_dist.futures import wait_all
from minitorch_dist.tensors.base import TensorBase


class _LocalOptimizer:
    """The part of one owner."""

    def __init__(self, kind: Any, params: Sequence[Any], args: Any, kwargs: Any) -> None:
        self._params: list[TensorBase] = [rref.local_value() for rref in params]
        self._optimizer = kind(self._params, *args, **kwargs)

    def step(self, context_id: int) -> None:
        agent = current()
        grads = autograd.get_gradients(context_id)
        with agent.extras.setdefault("step", agent.clock.condition("another step")):
            for param in self._params:
                grad = grads.get(param)
                if grad is not None:
                    param.grad = grad
            self._optimizer.step()
            who = agent.worker(context_id >> autograd.contexts.SHIFT).name
            steps = agent.extras.setdefault("steps", {})
            for number, param in enumerate(self._params):
                if param in grads:
                    what = f"parameter {number} of shape {list(param.array.shape)}"
                    steps[id(param.storage)] = (
                        f"{what} was stepped by {who!r}, in context {context_id}"
                    )

    def __repr__(self) -> str:
        return (
            f"<part of a DistributedOptimizer, {len(self._params)} parameters: {self._optimizer!r}>"
        )


class DistributedOptimizer:
    """A local optimizer of class `optimizer_class` on each owner of the parameters.

    `params_rref` are references to parameters; what follows is given to the local optimizers.
    """

    def __init__(self, optimizer_class: Any, params_rref: Any, *args: Any, **kwargs: Any) -> None:
        owned: dict[rpc.WorkerInfo, list[Any]] = {}
        for rref in params_rref:
            owned.setdefault(rref.owner(), []).append(rref)
        self.is_functional_optim = False  # torch's name: lock-free steps of compiled optimizers
        self.remote_optimizers = [
            rpc.remote(owner, _LocalOptimizer, (optimizer_class, params, args, kwargs))
            for owner, params in owned.items()
        ]
        for one in self.remote_optimizers:
            one._get_type()  # what went wrong with its creation is told here

    def step(self, context_id: int) -> None:
        """One step of all parameters with the gradients of a context; returns when all are done."""
        autograd.contexts.contexts_of(current()).find(context_id)
        wait_all([one.rpc_async().step(context_id) for one in self.remote_optimizers])

    def __repr__(self) -> str:
        owners = ", ".join(one.owner_name() for one in self.remote_optimizers)
        return f"<DistributedOptimizer of parameters on {owners}>"
