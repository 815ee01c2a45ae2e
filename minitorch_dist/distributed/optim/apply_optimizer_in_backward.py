"""Steps within backward: a parameter is updated, and its gradient freed, as soon as the gradient is there.

No gradient waits for the others, so gradients take the memory of the largest one. In a
DistributedDataParallel the steps come after the reduction of the parameter's bucket.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minitorch_dist.nn.modules.module import Module
from minitorch_dist.optim.optimizer import Optimizer


def _apply_optimizer_in_backward(
    optimizer_class: type[Optimizer],
    params: Iterable[Any],
    optimizer_kwargs: dict[str, Any],
    register_hook: bool = True,
) -> None:
    """Give each parameter an optimizer of its own. It has to come before the model is wrapped.

    The program does not call `step()` and `zero_grad()` then. Without `register_hook` no hook is set, and the
    program calls the optimizers itself.
    """
    for p in params:
        optimizer = optimizer_class([p], **optimizer_kwargs)
        known = p.__dict__.setdefault("_in_backward_optimizers", [])
        known.append(optimizer)
        if register_hook and len(known) == 1:
            handle = p.register_post_accumulate_grad_hook(step_at_once)
            p.__dict__["_in_backward_handle"] = handle


def step_at_once(p: Any) -> None:
    """Let the parameter's own optimizers step, and free its gradient."""
    for optimizer in p._in_backward_optimizers:
        optimizer.step()
    p.grad = None


def _get_in_backward_optimizers(module: Module) -> list[Optimizer]:
    """All optimizers that belong to single parameters of the module. Checkpoints need them."""
    found: list[Optimizer] = []
    for p in module.parameters():
        found.extend(p.__dict__.get("_in_backward_optimizers", []))
    return found
