"""Parameters without a gradient: who has them, and what is said about it.

A parameter that the loss does not depend on never becomes ready, so its bucket would never be sent.
torch notices one iteration later, after an optimizer step with gradients that nobody has averaged.
Here the graph is asked when a backward pass begins, before any gradient is collected: the ranks
agree on it in the first pass, and after that whoever finds one fails in the group's next operation,
which tells the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

import numpy as np

from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.execution.operations import Operation
from minitorch_dist.distributed.face.process_group import ProcessGroup
from minitorch_dist.distributed.face.tensor_collectives import all_gather_single, all_reduce
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.tensors import base, engine
from minitorch_dist.tensors.tensor import Tensor


def has_reentry(running: engine.Pass) -> bool:
    """Whether functions run within this pass whose graph is made only then."""
    return any(node.name_ == "CheckpointFunctionBackward" for node in running.tasks)


def gather(group: ProcessGroup, absent: Iterable[int], count: int) -> dict[int, set[int]]:
    """What is absent on each rank that has something absent. Every rank calls this."""
    mine = np.zeros(count, np.uint8)
    mine[list(absent)] = 1
    whole = np.zeros(count * group.size(), np.uint8)
    if group.size() == 1:
        whole = mine
    else:
        all_gather_single(base.new(Tensor, whole), base.new(Tensor, mine), group=group)
    rows = whole.reshape(group.size(), count)
    return {rank: set(np.flatnonzero(row).tolist()) for rank, row in enumerate(rows) if row.any()}


def everywhere(group: ProcessGroup, absent: Iterable[int], count: int) -> set[int]:
    """What is absent on all ranks. Every rank calls this."""
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

    def body(_: Operation) -> NoReturn:
        raise error

    if group.size() > 1:
        with suppress(DistError, RuntimeError):
            group.run(Fingerprint("all_reduce"), body)
    return error


def warn_of_none() -> None:
    warnings.warn(
        "find_unused_parameters=True was specified in DDP constructor, but did not find any unused "
        "parameters in the forward pass. This flag costs one more all_reduce per iteration, and the "
        "buckets cannot be rebuilt in the order in which gradients become ready. If your model "
        "indeed never has unused parameters, leave it out.",
        UserWarning,
        stacklevel=2,
    )
