"""all_reduce of sparse COO tensors, which embeddings with `sparse=True` have as gradients.

Ranks have values at different places. So all ranks gather all places and values, and each adds them up:

    sizes      how many places each rank has        all_gather of one number
    places     (dimensions × count)                 all_gather of arrays of different sizes
    values     (count × …)                          the same
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from minitorch_dist.distributed import collectives
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.pytorch.tensors_as_arrays import to_send, to_write
from minitorch_dist.pytorch.work import DoneWork


def all_reduce(group: ProcessGroup, tensor: torch.Tensor, opts: Any) -> DoneWork:
    """The tensor becomes the sum of all. It is done when this returns, also where torch asks for it beside the caller."""
    if opts.reduceOp.op.name != "SUM":
        raise RuntimeError(f"all_reduce of sparse tensors adds them up, and {opts.reduceOp.op.name} was asked for")
    own = tensor.detach().coalesce()
    counts = np.empty(group.size(), np.int64)
    collectives.all_gather_into(group, np.array([own._nnz()], np.int64), counts)
    places = _gathered(group, to_send(own.indices().T), counts)
    values = _gathered(group, to_send(own.values()), counts)
    whole = torch.sparse_coo_tensor(
        torch.from_numpy(places).T, _like(own.values(), values), own.shape, check_invariants=False
    ).coalesce()
    tensor.copy_(whole)
    return DoneWork([tensor])


def _gathered(group: ProcessGroup, own: Array, counts: Array) -> Array:
    """The rows of all ranks, in the order of the ranks."""
    whole = np.empty((int(counts.sum()), *own.shape[1:]), own.dtype)
    ends = np.cumsum(counts)
    outputs = [whole[end - count : end] for count, end in zip(counts, ends, strict=True)]
    collectives.all_gather(group, own, outputs)
    return whole


def _like(tensor: torch.Tensor, values: Array) -> torch.Tensor:
    """These values as a tensor of the other's dtype (bfloat16 has none in numpy itself)."""
    made = torch.empty(values.shape, dtype=tensor.dtype)
    array, _ = to_write(made)
    array[...] = values
    return made
