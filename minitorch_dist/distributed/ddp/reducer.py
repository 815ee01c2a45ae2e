"""The reducer: gradients are averaged over the ranks while backward still computes others.

The work of DDP could be three lines after `backward()`:

    for p in parameters:
        dist.all_reduce(p.grad)
        p.grad /= world_size

(Lessons 17 and 18 have two forms between those and this one.) The reducer does the same earlier and in larger
pieces. A hook on each parameter says when its gradient is complete. The gradient is divided and copied into
its bucket. A full bucket is sent at once, by the group's worker, beside the backward pass. The end of the
pass waits for all of them.

    backward      d  c  b  a               the hooks of d and c have filled bucket 0
    bucket 0           └─ all_reduce ─┐
    bucket 1                 └─ all_reduce ─┐
    end of pass                             └ wait, copy the averages to .grad

Buckets are sent in the order of their numbers on every rank, even if another one is ready first. So the n-th
all_reduce means the same bucket everywhere.

Which passes are reduced? Those that come through an output of a forward that was to be synchronised:
its node is watched. So a second backward through the same output is averaged too (torch leaves it
un-averaged, without a word), and passes around DDP, through `model.module`, are left alone.

The module `unused` is about parameters that the loss leaves out. A plain step enters it only in the first pass.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed import collectives
from minitorch_dist.distributed.ddp import buckets, unused
from minitorch_dist.distributed.ddp.buckets import Bucket, assign
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.prepared import NOW, How, PreparedCall
from minitorch_dist.distributed.torch_api.tensor_collectives import broadcast
from minitorch_dist.tensors.autograd.hooks import RemovableHandle, hooks_of
from minitorch_dist.tensors.core import base, engine, graph
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor

Wait = Callable[[], object]  # returns when the average is there
Hook = Callable[[Any, GradBucket], Any]  # of the user: begins to reduce a bucket, and returns a Future
NONE: Final[Set[int]] = frozenset()
BESIDE: Final = How(asynchronous=True)


class Reducer:
    """Averages the gradients of `parameters` (in the order of registration) over a group.

    `finds_unused`: the loss may leave some out. `as_views`: `.grad` looks into the bucket.
    """

    def __init__(
        self,
        parameters: Sequence[TensorBase],
        names: Sequence[str],
        group: ProcessGroup,
        caps: Sequence[int],
        *,
        finds_unused: bool = False,
        as_views: bool = False,
    ) -> None:
        self.parameters, self.names, self.group, self.caps = parameters, names, group, caps
        self.finds_unused, self.as_views, self.size = finds_unused, as_views, group.size()
        self.hook: Hook | None = None  # reduces in place of all_reduce
        self.hook_state: object = None
        self.iteration = 0  # reductions finished
        self.synchronises = True  # False within `no_sync`
        self.order: list[int] = []  # in which gradients became ready in the last pass
        self.missing: set[int] = set()  # parameters without a gradient in the last pass
        self.lacking: set[int] = set()  # parameters whose gradient has not arrived in this pass
        self.outputs = WatchedOutputs(self.reached)
        self._pass: engine.BackwardPass | None = None
        self._sent = 0  # buckets
        self._under_way: list[tuple[Bucket, Wait | None]] = []
        self._place: dict[int, tuple[Bucket, int]] = {}  # of each parameter
        self.buckets: list[Bucket] = []
        self.build(assign(parameters, caps if finds_unused else [sys.maxsize]))  # to be replaced, so it is not cut
        self._stays = self.size == 1 and not as_views  # a gradient is its own average, where it is
        for number, p in enumerate(parameters):
            assert p.requires_grad, "parameters of a reducer require grad"
            arrived = _weakly(weakref.WeakMethod(self._arrived), number)
            RemovableHandle(hooks_of(graph.node_of_leaf(p)).kept, arrived)

    def build(self, assignment: list[list[int]]) -> None:
        """Make these buckets."""
        self.buckets = [Bucket(index, numbers, self.parameters) for index, numbers in enumerate(assignment)]
        self._place = {n: (bucket, at) for bucket in self.buckets for at, n in enumerate(bucket.numbers)}
        for bucket in self.buckets if self.size > 1 else ():
            self._prepare(bucket)

    # ------------------------------------------------------------------- what is to be reduced

    def reached(self) -> None:
        """A watched output has been reached by a backward pass."""
        running = buckets.outermost()
        if running is not None and running is not self._pass and running.wanted is None:
            self._begin(running)

    def _arrived(self, number: int) -> None:
        """The gradient of a parameter is complete."""
        running = buckets.outermost()
        if running is not self._pass:
            self._begin_late(running, number)
        if running is None or running is not self._pass:
            return
        if number not in self.lacking:
            raise unused.arrived_twice(self.names[number])
        self.lacking.discard(number)
        self.order.append(number)
        self.fill(number)
        self._send_full_buckets()

    def _begin_late(self, running: engine.BackwardPass | None, number: int) -> None:
        """A pass reaches a parameter before a watched output: it is ours if it comes through one of them."""
        if running is not None and self.outputs.are_on(running):
            try:
                self._begin(running)
            except BaseException:
                buckets.keep(self.parameters[number], None)
                raise

    # ------------------------------------------------------------------------------ one backward

    def _begin(self, running: engine.BackwardPass) -> None:
        """Get ready for the gradients of this pass; those that will not come count as zero."""
        if self._under_way:
            self._abandon()
        if not self.synchronises:
            unused.warn_of_late_sync()
        self.outputs.expects_any = False
        missing = {
            number
            for number, p in enumerate(self.parameters)
            if p._accumulate is None or not running.reaches(p._accumulate)
        }
        if not self.finds_unused and (missing or self.iteration == 0):
            self._refuse(missing)
        self._pass, self.order, self._sent = running, [], 0
        for bucket in self.buckets:
            bucket.pending, bucket.is_averaged = len(bucket.numbers), False
        running.callbacks.append(self._finish)
        self.missing, self.lacking = missing, set(range(len(self.parameters))) - missing
        if missing:
            self._fill_with_zeros(missing)
            self._send_full_buckets()

    def _refuse(self, missing: set[int]) -> None:
        """Raise if a parameter is missing. In the first pass the ranks ask each other."""
        if self.iteration == 0:
            unused.agree_that_none(self.group, missing, self.names)
        else:
            raise unused.complaint(self.group, missing, self.names)

    def _fill_with_zeros(self, missing: Set[int]) -> None:
        for number in sorted(missing):
            self.fill(number)

    def _abandon(self) -> None:
        """Wait for what is still on its way from a pass that an error has ended."""
        for _, wait in self._under_way:
            if wait is not None:
                with suppress(Exception):
                    wait()
        self._under_way = []

    def reduce_with(self, state: object, hook: Hook) -> None:
        """Let `hook` reduce the buckets, in place of all_reduce. It divides for itself."""
        self.hook, self.hook_state, self._stays = hook, state, False

    def fill(self, number: int) -> None:
        """Put a parameter's gradient (or zeros) into its bucket, divided; a hook divides for itself."""
        bucket, position = self._place[number]
        if not self._stays:
            divisor = self.size if self.hook is None else None
            buckets.put(bucket.parameters[position], bucket.views[position], divisor, self.as_views)
        bucket.pending -= 1

    def _send_full_buckets(self) -> None:
        """Send, in order, what is full; the last bucket at the end of the pass."""
        while self._sent < len(self.buckets) - 1 and not self.buckets[self._sent].pending:
            self.send(self.buckets[self._sent])

    def send(self, bucket: Bucket) -> None:
        """Begin to average a bucket."""
        self._sent += 1
        if not self._stays:
            self._under_way.append((bucket, self.communicate(bucket)))

    def communicate(self, bucket: Bucket) -> Wait | None:
        """Begin to reduce a bucket. Call what is returned to wait; None: it is reduced already."""
        if self.hook is not None:
            return self._by_hook(bucket, self.hook)
        beside = self.size > 1 and bucket is not self.buckets[-1]
        prepared = bucket.all_reduce or self._prepare(bucket)
        work = prepared.run({"work": bucket.flat.array}, how=BESIDE if beside else NOW)
        return None if work is None else work.wait

    def _by_hook(self, bucket: Bucket, hook: Hook) -> Wait:
        seen = bucket.as_seen_by_hooks(bucket is self.buckets[-1])
        future = hook(self.hook_state, seen)

        def wait() -> None:
            found = future.wait()
            flat = found[0] if isinstance(found, (list, tuple)) else found
            if flat is not bucket.flat:
                bucket.flat.array[...] = flat.array.reshape(-1)

        return wait

    def _prepare(self, bucket: Bucket) -> PreparedCall:
        """The all_reduce of a bucket. The bucket keeps it, unless the ranks of a simulation share theirs."""
        prepared = collectives.prepare_all_reduce(self.group, bucket.flat.array)
        if prepared.is_kept:
            bucket.all_reduce = prepared
        return prepared

    def _finish(self) -> None:
        """At the end of the pass: send the rest, wait for everything, hand the averages out."""
        try:
            if self.lacking:
                self._complete()
            for bucket in self.buckets[self._sent :]:
                self.send(bucket)
            self._take_averages({n for n in self.missing if buckets.of(self.parameters[n]) is None})
        except BaseException:
            self._forget_unaveraged()
            raise
        finally:
            self._pass = None

    def _complete(self) -> None:
        """The pass is over, and some gradients have not arrived."""
        if not self.finds_unused:
            raise unused.complaint(self.group, self.lacking, self.names)
        self._fill_with_zeros(self.lacking)
        self.missing |= self.lacking

    def _forget_unaveraged(self) -> None:
        """Rather no gradient than one that was not averaged."""
        for bucket in self.buckets:
            if not bucket.is_averaged:
                for p in bucket.parameters:
                    buckets.keep(p, None)

    def _take_averages(self, absent: Set[int]) -> None:
        """Wait for all buckets, and hand the averages out. `absent`: the parameters without a gradient here. Where no rank has
        one there is none afterwards, too."""
        nowhere = NONE
        if self.finds_unused:
            nowhere = unused.everywhere(self.group, absent, len(self.parameters))
        under_way, self._under_way = self._under_way, []
        for bucket, wait in under_way:
            if wait is not None:
                wait()
            self._hand_out(bucket, nowhere)
        if self.iteration == 0:
            self.rebuild()
        self.iteration += 1

    def _hand_out(self, bucket: Bucket, nowhere: Set[int]) -> None:
        """Let each parameter of the bucket have its average."""
        for number, p, view in zip(bucket.numbers, bucket.parameters, bucket.views, strict=True):
            if number not in nowhere:
                buckets.give(p, view, self.as_views)
        bucket.is_averaged = True

    def shadow(self) -> None:
        """Answer the collectives of one backward pass of the other ranks, with zeros (see `join_hook`).

        The averages are handed out here as well: an optimizer may own parameters on this rank.
        """
        self.order = []
        if self.iteration == 0 and not self.finds_unused:
            unused.agree_that_none(self.group, NONE, self.names)
        for bucket in self.buckets:
            bucket.flat.array[...] = 0
            for p, view in zip(bucket.parameters, bucket.views, strict=True):
                if p._grad is view:
                    p._grad = None
            self._under_way.append((bucket, self.communicate(bucket)))
        self._take_averages(set(range(len(self.parameters))))

    # ------------------------------------------------------------------------- better buckets

    def rebuild(self) -> None:
        """After the first reduction: buckets in the order in which gradients became ready on rank 0."""
        if self.finds_unused:
            return
        seen = set(self.order)
        rest = [number for number in reversed(range(len(self.parameters))) if number not in seen]
        order = np.array([*self.order, *rest], np.int64)
        if self.size > 1:
            device = self.parameters[0].storage.device
            broadcast(base.new(Tensor, order, device), group=self.group, group_src=0)
        numbers: list[int] = order.tolist()
        self.build(assign(self.parameters, self.caps, numbers))


class WatchedOutputs:
    """The nodes of forwards' outputs, as long as their graphs live; `reached` is called when a
    backward pass comes to one."""

    def __init__(self, reached: Callable[[], None]) -> None:
        self._reached = weakref.WeakMethod(reached)
        self._nodes: weakref.WeakSet[Any] = weakref.WeakSet()
        self.expects_any = False  # after an output of a kind that cannot be looked into

    def watch(self, outputs: Iterable[TensorBase]) -> None:
        """Watch these from now on."""
        found = False
        for output in outputs:
            found = True
            edge = graph.edge_of(output)
            if edge is not None and edge[0] not in self._nodes:
                self._nodes.add(edge[0])
                RemovableHandle(hooks_of(edge[0]).reached, _weakly(self._reached))
        self.expects_any = not found

    def are_on(self, running: engine.BackwardPass) -> bool:
        """Whether this pass comes through one of them."""
        return self.expects_any or any(node in running.tasks for node in self._nodes)


def _weakly(method: weakref.WeakMethod[Any], *given: Any) -> Callable[..., None]:
    """A hook that knows its reducer weakly: a wrapper that is deleted lets go of its module."""

    def call(*_: Any) -> None:
        found = method()
        if found is not None:
            found(*given)

    return call
