"""Calling a module with other parameters than its own.

    functional_call(net, {"fc.weight": w}, x)

For the length of the call the given tensors stand in the module's tables; gradients then flow to
them. One thread at a time: the module itself is changed and changed back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minitorch_dist.nn.modules.module import Module

State = Mapping[str, Any]
Places = dict[str, tuple[dict[str, Any], str]]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: State | Sequence[State],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`module(*args, **kwargs)` with these tensors in place of its own.

    A tensor that is not given stays as it is, unless `strict`. With `tie_weights`, a tensor that the module
    has under several names is replaced under all of them. A buffer that the call replaces by
    another tensor is replaced in the given dictionary.
    """
    parts = parameter_and_buffer_dicts
    given: Any = (
        parts if isinstance(parts, Mapping) else {k: v for part in parts for k, v in part.items()}
    )
    places = _places(module)
    own = {name: table[key] for name, (table, key) in places.items()}
    if strict and given.keys() != own.keys():
        raise RuntimeError(
            f"functional_call(strict=True): missing {sorted(own.keys() - given.keys())}, unexpected "
            f"{sorted(given.keys() - own.keys())}"
        )
    tied = {id(own[name]): tensor for name, tensor in given.items() if name in own and tie_weights}
    for name in own.keys() & given.keys() if tie_weights else ():
        if tied[id(own[name])] is not given[name]:
            raise ValueError(
                f"functional_call got two values for one weight, the second as {name!r}. Consider using tie_weights=False"
            )
    wanted = {name: tied[id(old)] for name, old in own.items() if id(old) in tied} | dict(given)
    replaced = [(name, *places[name]) for name in wanted if name in places]
    try:
        for name, table, key in replaced:
            table[key] = wanted[name]
        return module(*_as_tuple(args), **(kwargs or {}))
    finally:
        for name, table, key in replaced:
            if name in given and isinstance(given, dict):
                given[name] = table[key]
            table[key] = own[name]


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else () if args is None else (args,)


def _places(module: Module) -> Places:
    """The table and the key of every parameter and buffer, by dotted name."""
    return {
        f"{path}.{key}" if path else key: (table, key)
        for path, part in module.named_modules(remove_duplicate=False)
        for table in (part._parameters, part._buffers)
        for key, tensor in table.items()
        if tensor is not None
    }
