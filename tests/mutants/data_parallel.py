"""Mistakes that data parallel training has really been shipped with, as code.

Each breaks a part of DDP, Join or ZeRO while it is switched on, and names the test that must fail then.
Most are quiet: training goes on, the loss falls, and the model is a little worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from minitorch_dist.distributed.algorithms import join
from minitorch_dist.distributed.ddp import agreement, buckets, module as ddp_module, unused
from minitorch_dist.distributed.ddp.reducer import Reducer, WatchedOutputs
from minitorch_dist.distributed.optim import zero_redundancy_optimizer as zero
from minitorch_dist.distributed.torch_api.tensor_collectives import all_reduce
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

Mutant = Callable[[], Any]
MUTANTS: dict[str, tuple[Mutant, str]] = {}


def killed_by(test: str) -> Callable[[Mutant], Mutant]:
    """Enter a mutant with the test (in tests/parallel) that has to notice it."""

    def enter(mutant: Mutant) -> Mutant:
        MUTANTS[mutant.__name__] = mutant, test
        return mutant

    return enter


@contextmanager
def without(thing: Any, method: str) -> Iterator[None]:
    """Within the block this method of one object does nothing (a class is shared by all ranks)."""
    thing.__dict__[method] = lambda *_: None
    try:
        yield
    finally:
        del thing.__dict__[method]


CONTRACT = "test_ddp_contract.py::"
EXACT = "test_exact.py::"


@killed_by(EXACT + "test_ddp_is_one_rank[3-plain]")
def parameters_are_averaged_instead_of_gradients() -> Any:
    """Right for plain SGD, wrong as soon as an optimizer remembers something, and one step late."""
    finish = Reducer._finish

    def mutant(self: Reducer) -> None:
        with without(self, "_hand_out"):
            finish(self)
        for p in self.parameters:
            p.array[...] /= self.size
            all_reduce(base.new(Tensor, p.array), group=self.group)

    return mock.patch.object(Reducer, "_finish", mutant)


@killed_by(CONTRACT + "test_gradients_are_the_average")
def sum_for_mean() -> Any:
    """Every rank more makes the learning rate larger."""
    put = buckets.put
    return mock.patch.object(buckets, "put", lambda p, view, divisor, as_views: put(p, view, 1, as_views))


@killed_by(CONTRACT + "test_gradients_are_the_average")
def mean_of_means() -> Any:
    """Divided before and after."""
    hand_out = Reducer._hand_out

    def mutant(self: Reducer, bucket: Any, nowhere: set[int]) -> None:
        bucket.flat.array[...] /= self.size
        hand_out(self, bucket, nowhere)

    return mock.patch.object(Reducer, "_hand_out", mutant)


@killed_by(CONTRACT + "test_values_and_buffers_are_those_of_rank_0")
def initial_values_are_not_shared() -> Any:
    """Each rank starts from its own random numbers; averages of gradients do not mend that."""
    return mock.patch.object(agreement, "broadcast_from", lambda *a, **k: None)


@killed_by(CONTRACT + "test_buffers_are_taken_before_each_forward_and_a_graph_does_not_mind")
def buffers_are_forgotten() -> Any:
    """Running statistics drift apart, and rank 0 saves its own."""
    return mock.patch.object(ddp_module.DistributedDataParallel, "will_sync_module_buffers", lambda self: False)


@killed_by(CONTRACT + "test_no_sync_adds_up_until_the_next_backward")
def micro_batches_are_never_reduced() -> Any:
    """Only the last micro-batch's gradient is sent, and what was collected before is lost."""
    put = buckets.put
    seen: dict[int, Any] = {}

    def mutant(p: Any, *rest: Any) -> None:
        last = seen.pop(id(p), None)
        if last is not None and p._grad is not None:
            p._grad.array[...] -= last
        put(p, *rest)

    arrived = Reducer._arrived

    def remember(self: Reducer, number: int) -> None:
        p = self.parameters[number]
        before = self._pass
        arrived(self, number)
        if self._pass is None and before is None and p._grad is not None:
            seen[id(p)] = p._grad.array.copy()

    @contextmanager
    def both() -> Iterator[None]:
        with mock.patch.object(buckets, "put", mutant), mock.patch.object(Reducer, "_arrived", remember):
            yield

    return both()


@killed_by(CONTRACT + "test_no_sync_adds_up_until_the_next_backward")
def no_sync_synchronises() -> Any:
    """Every micro-batch is averaged: right in the end, and as slow as without."""

    @contextmanager
    def nothing(self: Any) -> Iterator[None]:
        yield

    return mock.patch.object(ddp_module.DistributedDataParallel, "no_sync", nothing)


@killed_by("test_mutants.py::test_a_slow_network_is_waited_for")
def bucket_is_read_before_it_is_back() -> Any:
    """The gradient is taken from the bucket while the network still writes into it."""

    def mutant(self: Reducer, bucket: Any) -> Any:
        all_reduce(bucket.flat, group=self.group, async_op=True)
        return None

    return mock.patch.object(Reducer, "communicate", mutant)


@killed_by("test_mutants.py::test_a_slow_network_is_waited_for")
def bucket_is_filled_again_before_it_is_back() -> Any:
    """One buffer for all buckets: the second is packed into it while the first is being sent."""
    build = Reducer.build

    def mutant(self: Reducer, assignment: list[list[int]]) -> None:
        build(self, assignment)
        largest = max((bucket.flat.array.size for bucket in self.buckets), default=0)
        shared = np.zeros(largest, np.float64)
        for bucket in self.buckets:
            flat = shared[: bucket.flat.array.size]
            bucket.flat = base.new(Tensor, flat)
            stop = 0
            for number, p in enumerate(bucket.parameters):
                start, stop = stop, stop + p.array.size
                bucket.views[number] = base.new(Tensor, flat[start:stop].reshape(p.array.shape))

    return mock.patch.object(Reducer, "build", mutant)


@killed_by(CONTRACT + "test_found_unused_parameters_count_as_zero[{}]")
def unused_gradients_of_the_last_time_are_sent() -> Any:
    """A bucket is not cleared where a rank has no gradient: it still holds the last iteration's."""
    put = buckets.put

    def mutant(p: Any, *rest: Any) -> None:
        if p._grad is not None:
            put(p, *rest)

    return mock.patch.object(buckets, "put", mutant)


@killed_by(CONTRACT + "test_found_unused_parameters_count_as_zero[{}]")
def what_nobody_uses_gets_a_gradient_of_zero() -> Any:
    """Momentum and weight decay then move parameters that no rank has used."""
    return mock.patch.object(unused, "everywhere", lambda *a: set())


@killed_by(CONTRACT + "test_unused_parameters_are_named_in_the_same_backward[2]")
def unused_parameters_are_not_noticed() -> Any:
    """As torch: the first iteration goes by with gradients that were not averaged."""
    return mock.patch.object(Reducer, "_refuse", lambda self, missing: None)


@killed_by(CONTRACT + "test_a_second_backward_is_averaged_too")
def a_second_backward_stays_local() -> Any:
    """As torch: one pass is averaged for each forward."""
    begin = Reducer._begin

    def mutant(self: Reducer, running: Any) -> None:
        begin(self, running)
        self.outputs._nodes.clear()

    reached = Reducer.reached

    def once(self: Reducer) -> None:
        if self.outputs._nodes:
            reached(self)

    @contextmanager
    def both() -> Iterator[None]:
        with mock.patch.object(Reducer, "_begin", mutant), mock.patch.object(Reducer, "reached", once):
            yield

    return both()


@killed_by(CONTRACT + "test_passes_around_ddp_and_autograd_grad_stay_local")
def every_pass_is_reduced() -> Any:
    """Also those through `model.module`, for which the other ranks are not there."""
    return mock.patch.object(WatchedOutputs, "are_on", lambda self, running: True)


@killed_by(CONTRACT + "test_other_models_are_told_apart")
def shapes_are_not_compared() -> Any:
    """Ranks with different models add up what does not belong together."""
    return mock.patch.object(agreement, "check_shapes", lambda *a: None)


@killed_by("test_join.py::test_all_end_with_the_model_of_the_last[3]")
def the_first_who_is_done_has_the_last_word() -> Any:
    """The final model is that of a rank which stopped early."""
    shadow = join.Join._shadow

    def mutant(self: join.Join) -> None:
        hooks = [hook.post_hook for hook in self._hooks]
        for hook, post in zip(self._hooks, hooks, strict=True):
            hook.post_hook = lambda last, post=post: post(self._group.rank() == 0)  # type: ignore[method-assign, misc]
        shadow(self)

    return mock.patch.object(join.Join, "_shadow", mutant)


@killed_by(EXACT + "test_join_is_one_rank[3-zero]")
def a_shadow_keeps_no_gradients() -> Any:
    """A rank that is done goes on to step for the parameters it owns, with old gradients."""
    shadow = Reducer.shadow

    def mutant(self: Reducer) -> None:
        with without(self, "_hand_out"):
            shadow(self)

    return mock.patch.object(Reducer, "shadow", mutant)


@killed_by(EXACT + "test_zero_is_one_rank[3]")
def owners_do_not_send_their_parameters() -> Any:
    """Each rank steps for its own part and never hears of the others'."""
    return mock.patch.object(zero.ZeroRedundancyOptimizer, "_exchange", lambda self: None)


@killed_by("test_zero.py::test_schedulers_and_groups")
def a_scheduler_moves_only_what_is_shown() -> Any:
    """The learning rate changes in `param_groups`, and not in the optimizer that steps."""
    return mock.patch.object(zero, "_take_options", lambda into, of: None)


@killed_by("test_sampler.py::test_ranks_share_all_samples[3-False]")
def every_rank_sees_everything() -> Any:
    """The sampler is left out, and an epoch is as many epochs as there are ranks."""
    from minitorch_dist.utils.data.distributed import DistributedSampler

    return mock.patch.object(DistributedSampler, "__iter__", lambda self: iter(range(20)))
