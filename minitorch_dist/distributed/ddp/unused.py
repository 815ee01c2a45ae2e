"""Parameters without a gradient: the ranks that have them, and the error about it.

A parameter that the loss does not depend on never becomes ready, so its bucket would never be sent.
torch notices one iteration later, after an optimizer step with gradients that nobody has averaged.
Here the graph is asked when a backward pass begins, before any gradient is collected. In the first pass
the ranks agree on it. After that, a rank that finds one fails in the group's next operation, which tells
the others.

With `find_unused_parameters` a parameter without a gradient counts as zero on its rank. Where no rank has
one it keeps none, which costs an all_reduce of one number for each parameter.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import NoReturn

import numpy as np

from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.torch_api.tensor_collectives import all_gather_single, all_reduce
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor


def agree_that_none(group: ProcessGroup, missing: Set[int], names: Sequence[str]) -> None:
    """Raise on every rank if one of them misses a parameter. Every rank calls this."""
    found = gather(group, missing, len(names))
    if found:
        raise RuntimeError(explain(found, names))


def complaint(group: ProcessGroup, missing: set[int], names: Sequence[str]) -> RuntimeError:
    """The error of this rank, which the group's next operation tells the others."""
    return tell(group, RuntimeError(explain({group.rank(): missing}, names)))


def gather(group: ProcessGroup, absent: Iterable[int], count: int) -> dict[int, set[int]]:
    """The absent parameters of each rank that has some. Every rank calls this."""
    mine = np.zeros(count, np.uint8)
    mine[list(absent)] = 1
    whole = np.zeros(count * group.size(), np.uint8)
    if group.size() == 1:
        whole = mine
    else:
        all_gather_single(base.new(Tensor, whole), base.new(Tensor, mine), group=group)
    rows = whole.reshape(group.size(), count)
    lacking = np.flatnonzero(rows.any(axis=1)).tolist() if whole.any() else ()
    return {rank: set(np.flatnonzero(rows[rank]).tolist()) for rank in lacking}


def everywhere(group: ProcessGroup, absent: Iterable[int], count: int) -> set[int]:
    """The parameters that are absent on all ranks. Every rank calls this."""
    used = np.ones(count, np.int32)
    used[list(absent)] = 0
    if group.size() > 1:
        all_reduce(base.new(Tensor, used), group=group)
    return set(np.flatnonzero(used == 0).tolist())


def explain(absent: Mapping[int, set[int]], names: Sequence[str]) -> str:
    """The error: which parameters, on which ranks, and what to do."""
    lines = [
        f"Parameters which did not receive grad for rank {rank}: "
        f"{', '.join(names[number] for number in sorted(numbers))}"
        for rank, numbers in sorted(absent.items())
    ]
    return (
        "Expected to have finished reduction in this backward pass, but your module has parameters "
        "that were not used in producing loss. " + ". ".join(lines) + ". No gradient was changed. "
        "Use all outputs of forward in the loss; or, if parts of the module are left out on purpose, "
        "pass find_unused_parameters=True to DistributedDataParallel, or freeze those parameters "
        "with requires_grad_(False) before wrapping the module"
    )


def tell(group: ProcessGroup, error: RuntimeError) -> RuntimeError:
    """Let the group's next operation fail with `error`, so that nobody waits for this rank."""

    def body(_: CollectiveOperation) -> NoReturn:
        raise error

    if group.size() > 1:
        with suppress(DistError, RuntimeError):
            group.run(Fingerprint("all_reduce"), body)
    return error


def arrived_twice(name: str) -> RuntimeError:
    """The error for a gradient that is complete, and comes again in the same pass."""
    return RuntimeError(
        "Expected to mark a variable ready only once, but the gradient of parameter "
        f"{name!r} has become ready a second time in one backward pass. "
        "Either it is used outside of the module's forward as well, or in a backward pass within "
        "this one."
    )


def warn_of_late_sync() -> None:
    warnings.warn(
        "backward() is called within no_sync(), but the forward was not: gradients are "
        "averaged now. no_sync() has to be around the forward as well.",
        UserWarning,
        stacklevel=2,
    )
