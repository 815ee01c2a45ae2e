"""Calling a module with other parameters than its own.

    functional_call(net, {"fc.weight": w}, x)

For the length of the call the given tensors stand in the module's tables; gradients then flow to
them. One thread at a time: the module itself is changed and changed back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from minitorch_dist.nn.modules.module import Module

State = Mapping[str, Any]


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
    if not isinstance(module, Module):
        raise TypeError(f"functional_call(): expected a Module, got {type(module).__name__}")
    given = _joined(parameter_and_buffer_dicts)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _joined(given: State | Sequence[State]) -> State:
    if isinstance(given, Mapping):
        return given
    if not isinstance(given, Sequence) or not all(isinstance(part, Mapping) for part in given):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(given)}"
        )
    counts = Counter(name for part in given for name in part)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return {name: tensor for part in given for name, tensor in part.items()}


@contextmanager
def _replaced(module: Module, given: State, tie: bool, strict: bool) -> Iterator[None]:
    places = _places(module)
    wanted = _with_ties(places, given) if tie else dict(given)
    if strict:
        _check_names(places, wanted, module._get_name())
    before = {name: places[name][0][places[name][1]] for name in wanted if name in places}
    try:
        for name in before:
            table, key = places[name]
            table[key] = wanted[name]
        yield
    finally:
        for name, tensor in before.items():
            table, key = places[name]
            if name in given and isinstance(given, dict):
                given[name] = table[key]
            table[key] = tensor


def _places(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """The table and the key of every parameter and buffer, by dotted name."""
    places: dict[str, tuple[dict[str, Any], str]] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        for table in (part._parameters, part._buffers):
            for key, tensor in table.items():
                if tensor is not None:
                    places[f"{path}.{key}" if path else key] = table, key
    return places


def _with_ties(places: Mapping[str, tuple[dict[str, Any], str]], given: State) -> dict[str, Any]:
    """The given tensors under all names that the module has for the ones they replace."""
    wanted = dict(given)
    names_of: dict[int, list[str]] = {}
    for name, (table, key) in places.items():
        names_of.setdefault(id(table[key]), []).append(name)
    for names in names_of.values():
        found = [given[name] for name in names if name in given]
        if any(tensor is not found[0] for tensor in found):
            raise ValueError(
                f"functional_call got multiple values for keys {names}, which are tied. Consider "
                "using tie_weights=False"
            )
        if found:
            wanted.update(dict.fromkeys(names, found[0]))
    return wanted


def _check_names(places: Mapping[str, Any], wanted: State, owner: str) -> None:
    missing = sorted(places.keys() - wanted.keys())
    unexpected = sorted(wanted.keys() - places.keys())
    messages = []
    if unexpected:
        messages.append("Unexpected key(s): " + ", ".join(map(repr, unexpected)) + ".")
    if missing:
        messages.append("Missing key(s): " + ", ".join(map(repr, missing)) + ".")
    if messages:
        raise RuntimeError(f"Error(s) in reparametrizing for {owner}:\n\t" + "\n\t".join(messages))
