"""Parameters without a gradient: the ranks that have them, and the error about it.

A parameter that the loss does not depend on never becomes ready, so its bucket would never be sent.
torch notices one iteration later, after an optimizer step with gradients that nobody has averaged.
Here the graph is asked when a backward pass begins, before any gradient is collected. In the first pass
the ranks agree on it. After that, a rank that finds one fails in the group's next operation, which tells
the others.

    Usage          every parameter is used in every pass, else training stops     (the default)
    FindUnused     the loss may leave parameters out, other ones on each rank     find_unused_parameters
    StaticGraph    the first pass shows which are used, and how often             static_graph

The reducer calls the first one in the first pass, and later only when something is missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn, Protocol

import numpy as np

from minitorch_dist.distributed.ddp.advice import advising
from minitorch_dist.distributed.ddp.buckets import Bucket, of
from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.distributed.torch_api.tensor_collectives import all_gather_single, all_reduce
from minitorch_dist.tensors.core import base, engine
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor


class ReducerState(Protocol):
    """The part of a `reducer.Reducer` that this module needs."""

    parameters: Sequence[TensorBase]
    names: Sequence[str]
    group: ProcessGroup
    iteration: int
    order: list[int]
    missing: set[int]
    lacking: set[int]
    may_be_static: bool

    def fill(self, number: int) -> None: ...
    def leave(self, error: RuntimeError) -> RuntimeError: ...


class Usage:
    """Every parameter is used in every pass. Where one is not, training stops, with its name.

    `skips`: buckets of which this rank uses nothing are not sent (`skip_all_reduce_unused_params`).
    """

    may_lack = False  # asked at every pass, and at its end for what no rank has used
    counts = False  # asked at every gradient
    rebuilds = True  # buckets are made anew after the first pass

    def __init__(self, skips: bool = False) -> None:
        self.skips = skips

    def begin(
        self, reducer: ReducerState, running: engine.BackwardPass, missing: set[int]
    ) -> set[int]:
        """A pass begins that does not reach `missing`. Returns what counts as zero in it.

        In the first pass all ranks agree on it. A rank that finds one later fails, and the others are told.
        """
        everywhere: Mapping[int, set[int]] = {}
        if reducer.iteration == 0:
            with advising(reducer.iteration):
                everywhere = gather(reducer.group, missing, len(reducer.parameters))
            if everywhere:
                raise reducer.leave(RuntimeError(explain(everywhere, reducer.names)))
        elif missing:
            raise reducer.leave(self._complaint(reducer, missing))
        return missing

    def keeps_back(self, reducer: ReducerState, number: int) -> bool:
        """Whether this gradient may still change in this pass."""
        return False

    def complete(self, reducer: ReducerState) -> None:
        """The pass is over, and some gradients have not arrived."""
        raise self._complaint(reducer, reducer.lacking)

    def _complaint(self, reducer: ReducerState, missing: set[int], why: str = "") -> RuntimeError:
        text = explain({reducer.group.rank(): missing}, reducer.names) + why
        return tell(reducer.group, RuntimeError(text))

    def leaves_out(self, reducer: ReducerState, bucket: Bucket) -> bool:
        """Whether a bucket is not sent."""
        return self.skips and reducer.missing.issuperset(bucket.numbers)

    def nowhere(self, reducer: ReducerState, missing: set[int] | None = None) -> set[int]:
        """Which of the missing parameters no rank has a gradient for; they keep none. Every rank calls this."""
        return set()


class FindUnused(Usage):
    """The loss may leave parameters out: their gradient is zero here, and None where no rank has one."""

    may_lack = True
    rebuilds = False

    def begin(
        self, reducer: ReducerState, running: engine.BackwardPass, missing: set[int]
    ) -> set[int]:
        if reducer.iteration == 0 and not missing:
            warn_of_none()
        if reducer.iteration > 0 and missing != reducer.missing:
            reducer.may_be_static = False
        return missing

    def complete(self, reducer: ReducerState) -> None:
        for number in sorted(reducer.lacking):
            reducer.fill(number)
        reducer.missing |= reducer.lacking

    def nowhere(self, reducer: ReducerState, missing: set[int] | None = None) -> set[int]:
        if self.skips:
            return set()
        return everywhere(
            reducer.group, without_gradient(reducer, missing), len(reducer.parameters)
        )


CHANGED = (
    " Your training graph has changed in this iteration: these parameters were used in the first one. "
    "This is not compatible with static_graph set to True."
)


class StaticGraph(Usage):
    """Which parameters are used, and how often, is seen in the first pass, and never changes.

    In the first pass a gradient may change until the end, so all are sent then. Later it is complete when
    its hook has been called as often as in the pass before.
    """

    may_lack = counts = True

    def __init__(self, finds_unused: bool = False, skips: bool = False) -> None:
        super().__init__(skips)
        self.finds_unused = finds_unused
        self._calls: list[int] = []  # of each parameter's hook in this pass
        self._left: list[int] = []  # calls that are still expected
        self._never: set[int] = set()  # used by no rank

    def begin(
        self, reducer: ReducerState, running: engine.BackwardPass, missing: set[int]
    ) -> set[int]:
        unseen = [0] * len(reducer.parameters)
        self._left, self._calls = self._calls or unseen[:], unseen
        if reducer.iteration == 0:
            return set()
        missing = {number for number, times in enumerate(self._left) if times == 0}
        reducer.may_be_static = reducer.may_be_static and missing == reducer.missing
        return missing

    def keeps_back(self, reducer: ReducerState, number: int) -> bool:
        self._calls[number] += 1
        if reducer.iteration == 0:
            if self._calls[number] == 1:
                reducer.order.append(number)
            return True
        self._left[number] -= 1
        return self._left[number] > 0

    def complete(self, reducer: ReducerState) -> None:
        if reducer.iteration == 0:
            reducer.missing = {number for number, times in enumerate(self._calls) if not times}
            for number in [*reducer.order, *sorted(reducer.missing)]:
                reducer.fill(number)
        elif reducer.lacking:
            if not self.finds_unused:
                raise self._complaint(reducer, reducer.lacking, CHANGED)
            for number in sorted(reducer.lacking):
                reducer.fill(number)
            reducer.missing |= reducer.lacking

    def nowhere(self, reducer: ReducerState, missing: set[int] | None = None) -> set[int]:
        if reducer.iteration == 0 and not self.skips:
            absent = without_gradient(reducer, missing)
            self._never = everywhere(reducer.group, absent, len(reducer.parameters))
        return self._never


def without_gradient(reducer: ReducerState, missing: set[int] | None) -> set[int]:
    """The parameters that get no gradient here: the given ones, or those that this pass has left out."""
    if missing is not None:
        return missing
    return {n for n in reducer.missing if of(reducer.parameters[n]) is None}


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


def warn_of_none() -> None:
    warnings.warn(
        "find_unused_parameters=True was specified in DDP constructor, but did not find any unused "
        "parameters in the forward pass. This flag costs one more all_reduce per iteration, and the "
        "buckets cannot be rebuilt in the order in which gradients become ready. If your model "
        "indeed never has unused parameters, leave it out.",
        UserWarning,
        stacklevel=2,
    )


def arrived_twice(name: str) -> RuntimeError:
    """The error for a gradient that is complete, and comes again in the same pass."""
    return RuntimeError(
        "Expected to mark a variable ready only once, but the gradient of parameter "
        f"{name!r} has become ready a second time in one backward pass. "
        "Either it is used outside of the module's forward as well, or in backward passes "
        "within this one. If the graph does not change, pass static_graph=True to "
        "DistributedDataParallel."
    )


def warn_of_late_sync() -> None:
    warnings.warn(
        "backward() is called within no_sync(), but the forward was not: gradients are "
        "averaged now. no_sync() has to be around the forward as well.",
        UserWarning,
        stacklevel=2,
    )
