"""The ledger's oracle: what can be reached, found by walking objects."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import minitorch_dist as mtd
from minitorch_dist.tensors.core.base import Storage, TensorBase
from minitorch_dist.tensors.core.graph import Node
from minitorch_dist.tensors.storages import root


def reachable(start: Any) -> dict[str, int]:
    """Bytes per device of all arrays that can be reached from `start`, each owner of memory once.

    Walked as the garbage collector walks: through containers, graph nodes, and the closures of
    functions. An array is on the device of the tensor or node that leads to it.
    """
    found: dict[int, tuple[str, int]] = {}
    todo: list[tuple[Any, str]] = [(start, "")]
    seen: set[int] = set()
    while todo:
        thing, where = todo.pop()
        if isinstance(thing, np.ndarray):
            owner = root(thing)
            found[id(owner)] = where, owner.nbytes
            continue
        if id(thing) in seen or isinstance(thing, (type, ModuleType, mtd.device)):
            continue
        seen.add(id(thing))
        if isinstance(thing, (TensorBase, Node, Storage)):
            where = str(thing.device)
        children = thing.__closure__ or () if isinstance(thing, FunctionType) else gc.get_referents(thing)
        todo.extend((child, where) for child in children)
    totals = {"cuda:0": 0, "cuda:1": 0}
    for where, nbytes in found.values():
        totals[where] += nbytes
    return totals
