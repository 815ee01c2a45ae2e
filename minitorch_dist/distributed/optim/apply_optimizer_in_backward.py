"""Steps within backward: a parameter is updated as soon as its gradient is there, and that is freed.

No gradient waits for the others, so the largest one is all the memory they take. In a
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
    """Give each parameter an optimizer of its own. Before the model is wrapped; `step()` and
    `zero_grad()` are not called then. Without `register_hook` somebody else calls the optimizers."""
    for p in params:
        optimizer = optimizer_class([p], **optimizer_kwargs)
        known = p.__dict__.setdefault("_in_backward_optimizers", [])
        known.append(optimizer)
        if register_hook and len(known) == 1:
            handle = p.register_post_accumulate_grad_hook(_step)
            p.__dict__["_in_backward_handle"] = handle


def _step(p: Any) -> None:
    for optimizer in p._in_backward_optimizers:
        optimizer.step()
    p.grad = None


def _get_in_backward_optimizers(module: Module) -> list[Optimizer]:
    """All optimizers that parameters of the module have of their own; for checkpoints."""
    found: list[Optimizer] = []
    for p in module.parameters():
        found.extend(p.__dict__.get("_in_backward_optimizers", []))
    return found
