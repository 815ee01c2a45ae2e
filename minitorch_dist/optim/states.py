"""An optimizer's memory as plain data, and back.

Parameters are objects; on disk they are numbers, in the order of the groups:

    {"state":        {0: {"momentum_buffer": tensor}, 1: …},
     "param_groups": [{"lr": 0.1, …, "params": [0, 1]}, {"lr": 0.01, …, "params": [2]}]}

This is torch's structure, so a checkpoint of either continues in the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from minitorch_dist.tensors import ledger
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor


def pack(groups: list[dict[str, Any]], state: Mapping[Any, Any]) -> dict[str, Any]:
    """Number the parameters. The state's tensors are referred to, not copied."""
    numbers: dict[int, int] = {}
    packed_groups = []
    start = 0
    for group in groups:
        for i, p in enumerate(group["params"], start):
            numbers.setdefault(id(p), i)
        packed = {key: value for key, value in group.items() if key != "params"}
        packed["params"] = [numbers[id(p)] for p in group["params"]]
        packed_groups.append(packed)
        start += len(packed["params"])
    packed_state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in state.items()}
    return {"state": packed_state, "param_groups": packed_groups}


def unpack(
    saved: Mapping[str, Any], groups: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], defaultdict[Any, Any]]:
    """The groups and the state of `saved`, for the parameters of `groups`."""
    loaded = deepcopy(saved["param_groups"])
    if len(loaded) != len(groups):
        raise ValueError(
            "loaded state dict has a different number of parameter groups: "
            f"{len(loaded)}, and the optimizer has {len(groups)}"
        )
    owners: dict[Any, Tensor] = {}
    for position, (new, old) in enumerate(zip(loaded, groups, strict=True)):
        if len(new["params"]) != len(old["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                f"optimizer's group: group {position} has {len(new['params'])} parameters there "
                f"and {len(old['params'])} here"
            )
        owners.update(zip(new["params"], old["params"], strict=True))
        new["params"] = old["params"]
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in saved["state"].items():
        if key in owners:
            with ledger.category("optimizer"):
                state[owners[key]] = _fit(value, owners[key])
        else:
            state[key] = value
    return loaded, state


def _fit(value: Any, p: Tensor, key: Any = None) -> Any:
    """A copy of `value` in which tensors have the type and device of `p`; `step` keeps its own."""
    if isinstance(value, Tensor):
        if key == "step":
            return base.new(Tensor, value.array.copy(), value.storage.device)
        array = value.array
        kind = p.array.dtype if p.dtype.is_floating_point else array.dtype
        return p.companion(array.astype(kind))
    if isinstance(value, Mapping):
        return {k: _fit(v, p, k) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_fit(v, p) for v in value)
    return value
