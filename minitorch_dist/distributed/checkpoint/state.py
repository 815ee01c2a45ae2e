"""A state as a flat table: dotted names, tensors, and everything else.

Dicts and lists are walked; objects with `state_dict` and `load_state_dict` are asked. Loading puts the
values that it finds back in place.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, MutableSequence
from typing import Any, NamedTuple

from minitorch_dist.distributed.checkpoint.pieces import About, Box
from minitorch_dist.distributed.checkpoint.stateful import Stateful
from minitorch_dist.distributed.tensor.dtensor import DTensor
from minitorch_dist.distributed.tensor.placements import Shard, local_ranges
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


class Leaf(NamedTuple):
    """One entry of the flat table."""

    name: str
    path: tuple[Any, ...]  # the keys that lead to it; a place in a list is a list of one number
    value: Any
    holder: Any  # the dict or list that has it …
    key: Any  # … at this place


def asked(state: MutableMapping[str, Any]) -> dict[str, Any]:
    """The state with its stateful objects replaced by what they say."""
    return {key: value.state_dict() if isinstance(value, Stateful) else value for key, value in state.items()}


def leaves(state: Any, above: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    """Everything in nested dicts and lists, under dotted names."""
    is_list = not isinstance(state, MutableMapping)
    pairs: list[tuple[Any, Any]] = list(enumerate(state) if is_list else state.items())
    for key, value in pairs:
        path = (*above, [key] if is_list else key)
        name = ".".join(str(one[0] if isinstance(one, list) else one) for one in path)
        if (isinstance(value, MutableMapping) or _is_walked(value)) and len(value):
            yield from leaves(value, path)
        else:
            yield Leaf(name, path, value, state, key)


def _is_walked(value: Any) -> bool:
    """Lists are looked into where there is a tensor or a dict in them; others are values."""
    return isinstance(value, MutableSequence) and any(isinstance(one, (Tensor, MutableMapping)) for one in value)


def about(tensor: Tensor) -> About:
    """The facts about a tensor that are needed before it is written."""
    array = local(tensor)
    return About(tuple(tensor.shape), str(array.dtype), box_of(tensor), array.nbytes)


def box_of(tensor: Tensor) -> Box:
    """The part that this rank has."""
    if not isinstance(tensor, DTensor):
        shape = tuple(tensor.array.shape)
        return Box((0,) * len(shape), shape)
    mesh = tensor.device_mesh
    if any(not (p.is_replicate() or isinstance(p, Shard)) for p in tensor.placements):
        raise ValueError(f"summands cannot be saved, redistribute first: {tensor.placements}")
    at = mesh.get_coordinate()
    assert at is not None
    ranges = local_ranges(tuple(tensor.shape), mesh.shape, at, tensor.placements)
    return Box(tuple(r.start for r in ranges), tuple(r.stop - r.start for r in ranges))


def local(tensor: Tensor) -> Array:
    """The array that holds this rank's part."""
    return tensor._local_array() if isinstance(tensor, DTensor) else tensor.array
