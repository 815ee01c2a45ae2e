"""State that is made at the first step only: a fresh optimizer has none that a checkpoint could fill.

An optimizer that is given as such gets its state first, by a step that changes nothing. A state that the caller
has asked of a fresh optimizer holds an empty dict; as in torch it asks for nothing, but here that is an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, MutableSequence
from typing import Any

from minitorch_dist.optim.optimizer import Optimizer
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor


def initialise(optimizer: Optimizer) -> None:
    """Give an optimizer that has not stepped the state that it will have."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    for p in params:
        if p.requires_grad:
            p.grad = creation.zeros_like(p)
    kept = [dict(group) for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        if (rate := group.get("lr")) is not None:
            group["lr"] = creation.zeros_like(rate) if isinstance(rate, Tensor) else 0.0
    optimizer.step()
    for group, before in zip(optimizer.param_groups, kept, strict=True):
        group.update(before)
    optimizer.zero_grad(set_to_none=True)


def initialise_where_saved(state_dict: Mapping[str, Any], names: Collection[str]) -> None:
    """`initialise` the optimizers in `state_dict` of whose state the checkpoint holds something."""
    for key, value in state_dict.items():
        if isinstance(value, Optimizer) and _below(f"{key}.state", names):
            initialise(value)


def asks_for_nothing(name: str, value: Any, names: Collection[str]) -> bool:
    """Whether it is an empty dict or list. A warning tells what the checkpoint has in its place."""
    if not isinstance(value, (Mapping, MutableSequence)) or len(value) > 0:
        return False
    found = _below(name, names)
    if found:
        warnings.warn(
            f"{name} is empty here, so nothing of it was loaded; the checkpoint has {len(found)} entries there, for "
            f"example {found[0]}. A fresh optimizer gets its state from get_state_dict(model, optimizer), or if the "
            "optimizer itself is given to load().",
            stacklevel=4,
        )
    return True


def _below(name: str, names: Collection[str]) -> list[str]:
    return [each for each in names if each.startswith(f"{name}.")]
