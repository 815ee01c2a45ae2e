"""torch's collectives on tensors, where the same call was made before (see `repeated`).

Each returns DONE if it has carried the call out; else the key under which the next one will look for
what this one leaves behind, or None for a call that is not of the plain kind.
"""

from __future__ import annotations

from typing import Any, Final

from numpy import may_share_memory

from minitorch_dist.distributed.collectives import given_and_own
from minitorch_dist.distributed.mail.receives import Array, Own
from minitorch_dist.distributed.reduce_op import RedOpType
from minitorch_dist.distributed.repeated import find
from minitorch_dist.tensors.base import TensorBase

DONE: Final = object()
_AVG, _PREMUL = RedOpType.AVG, RedOpType.PREMUL_SUM


def is_plain(tensor: Any) -> bool:
    """Whether a tensor can be sent from, and written to, where it is."""
    return isinstance(tensor, TensorBase) and tensor.array.flags.carray


def _sums(op: Any) -> bool:
    """Whether an op has nothing to do before or after."""
    return type(op) is RedOpType and op is not _AVG and op is not _PREMUL


def _flat(array: Array) -> Array:
    return array if array.ndim == 1 else array.reshape(-1)


def broadcast(tensor: Any, src: Any, group: Any, group_src: Any) -> Any:
    if not is_plain(tensor):
        return None
    array = tensor.array
    key = "broadcast", src, group_src, array.dtype, array.shape
    kind = find(group, key)
    if kind is None:
        return key
    kind.run({"work": _flat(array)})
    if kind.writes:
        tensor.storage.version += 1
    return DONE


def all_reduce(tensor: Any, op: Any, group: Any) -> Any:
    if not is_plain(tensor) or not _sums(op):
        return None
    array = tensor.array
    key = "all_reduce", id(op), array.dtype, array.shape
    kind = find(group, key)
    if kind is None:
        return key
    kind.run({"work": _flat(array)})
    tensor.storage.version += 1
    return DONE


def all_gather_single(output: Any, input: Any, group: Any) -> Any:
    if not is_plain(output) or not is_plain(input):
        return None
    array, into = input.array, output.array
    key = "all_gather", array.dtype, array.shape, into.dtype, into.shape
    kind = find(group, key)
    if kind is None:
        return key
    flat, given, rank = _flat(into), _flat(array), kind.rank
    own: Own | None
    if may_share_memory(into, array):
        given, own, early = given_and_own(flat, given, rank)
        if early is not None:
            early.into[...] = early.of
    else:
        count = given.size
        own = Own(flat[rank * count : (rank + 1) * count], given)
    kind.run({"work": flat, ("source", rank): given}, own)
    output.storage.version += 1
    return DONE


def reduce_scatter_single(output: Any, input: Any, op: Any, group: Any) -> Any:
    if not is_plain(output) or not is_plain(input) or not _sums(op):
        return None
    array, into = input.array, output.array
    key = "reduce_scatter", id(op), array.dtype, array.shape, into.dtype, into.shape
    kind = None if may_share_memory(array, into) else find(group, key)
    if kind is None:
        return key
    kind.run({"source": _flat(array), "work": _flat(into)})
    output.storage.version += 1
    return DONE


def all_to_all_single(output: Any, input: Any, group: Any) -> Any:
    """Without sizes of the parts: all are equal."""
    if not is_plain(output) or not is_plain(input):
        return None
    array, into = input.array, output.array
    key = "all_to_all", array.dtype, array.shape, into.dtype, into.shape
    kind = find(group, key)
    if kind is None:
        return key
    given, taken = _flat(array), _flat(into)
    count, start = given.size // kind.size, 0
    arrays: dict[Any, Array] = {}
    for source, work in kind.names:
        stop = start + count
        arrays[source], arrays[work] = given[start:stop], taken[start:stop]
        start = stop
    source, work = kind.names[kind.rank]
    kind.run(arrays, Own(arrays[work], arrays[source]))
    output.storage.version += 1
    return DONE


def barrier(group: Any) -> Any:
    key = "barrier"
    kind = find(group, key)
    if kind is None:
        return key
    kind.run({})
    return DONE
