"""The reducer: gradients are averaged over the ranks while backward still computes others.

What DDP does could be three lines after `backward()`:

    for p in parameters:
        dist.all_reduce(p.grad)
        p.grad /= world_size

The reducer does the same earlier and in larger pieces. A hook on each parameter says when its
gradient is complete; it is divided and copied into its bucket; a full bucket is sent at once, by the
group's worker, beside the backward pass; the end of the pass waits for all of them.

    backward      d  c  b  a               the hooks of d and c have filled bucket 0
    bucket 0           └─ all_reduce ─┐
    bucket 1                 └─ all_reduce ─┐
    end of pass                             └ wait, copy the averages to .grad

Buckets are sent in the order of their numbers on every rank, whatever becomes ready first, so that
the n-th all_reduce means the same bucket everywhere.

Which passes are reduced? Those that come through an output of a forward that was to be synchronised:
its node is watched. So a second backward through the same output is averaged too (torch leaves it
un-averaged, without a word), and passes around DDP, through `model.module`, are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from minitorch_dist.distributed.face.process_group import ProcessGroup
from minitorch_dist.distributed.face.tensor_collectives import all_reduce, broadcast
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.distributed.work import Work
from minitorch_dist.nn.parallel import gradients, unused, watching
from minitorch_dist.nn.parallel.advice import advising
from minitorch_dist.nn.parallel.buckets import Bucket, Caps, assign
from minitorch_dist.nn.parallel.measured import Measured
from minitorch_dist.tensors import base, engine
from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor

Hook = Callable[[Any, GradBucket], Any]


class Reducer:
    """Averages the gradients of `parameters` (in the order of registration) over a group."""

    def __init__(
        self,
        parameters: Sequence[TensorBase],
        names: Sequence[str],
        group: ProcessGroup,
        caps: Caps,
        *,
        find_unused: bool = False,
        as_views: bool = False,
        static: bool = False,
        skip_unused: bool = False,
        whole_buckets: bool = False,
        dtype: Any = None,
    ) -> None:
        self.parameters, self.names, self.group, self.caps = parameters, names, group, caps
        self.find_unused, self.as_views, self.static = find_unused, as_views, static
        self.skip_unused, self.whole_buckets, self.dtype = skip_unused, whole_buckets, dtype
        self.size = group.size()
        self.hook: tuple[Hook, Any] | None = None
        self.iteration = 0  # reductions finished
        self.measured = Measured(group.world.clock)
        self.order: list[int] = []  # in which gradients became ready in the last pass
        self.forward_work: tuple[Work, bool] | None = None  # of Join: how many ranks still train
        self.on_late_sync: Callable[[], None] = lambda: None
        self.extra: list[Callable[[], Callable[[], None]]] = []  # sent after all buckets
        self.extra_futures: list[Any] = []  # of a hook for buffers
        self.outputs = watching.Outputs(self.reached)
        self._pass: engine.Pass | None = None
        self._divisor = self.size
        self._sent: list[tuple[Bucket, Callable[[], TensorBase] | None]] = []
        self.missing: set[int] = set()
        self._may_reenter = False
        self._fires = [0] * len(parameters)  # of a static graph: how often each hook is called
        self._left = [1] * len(parameters)
        self._never: set[int] = set()  # of a static graph: what no rank ever uses
        self._place: list[tuple[Bucket, int]] = []
        self.buckets: list[Bucket] = []
        self.build(assign(parameters, caps.at_first(find_unused and not static)))
        self.first_sizes = [bucket.nbytes for bucket in self.buckets]
        self.has_rebuilt = False
        self._steps_at_once = any("_in_backward_optimizers" in p.__dict__ for p in parameters)
        self.may_be_static = True  # so far the same parameters were used in every pass
        for number, p in enumerate(parameters):
            watching.when_complete(p, number, self._arrived)
            handle = p.__dict__.pop("_in_backward_handle", None)
            if handle is not None:  # its own optimizers step when the average is there
                handle.remove()

    def build(self, assignment: list[list[int]]) -> None:
        """Make these buckets."""
        self.buckets = [
            Bucket(index, numbers, self.parameters, self.dtype)
            for index, numbers in enumerate(assignment)
        ]
        places = {
            number: (bucket, position)
            for bucket in self.buckets
            for position, number in enumerate(bucket.numbers)
        }
        self._place = [places[number] for number in range(len(self.parameters))]

    # ------------------------------------------------------------------- what is to be reduced

    def reached(self) -> None:
        """A watched output has been reached by a backward pass."""
        running = engine.outermost()
        if running is not None and running is not self._pass and running.wanted is None:
            self._begin(running)

    def _arrived(self, number: int) -> None:
        """The gradient of a parameter is complete."""
        running = engine.outermost()
        if running is None:
            return
        if running is not self._pass:
            if not self.outputs.are_on(running):
                return
            try:
                self._begin(running)
            except BaseException:
                gradients.keep(self.parameters[number], None)
                raise
        self._fires[number] += 1
        if self.static and self.iteration == 0:
            if self._fires[number] == 1:
                self.order.append(number)
            return  # all at the end, for what a gradient is may change until then
        self._left[number] -= 1
        if self._left[number] > 0:
            return
        if self._left[number] < 0:
            raise RuntimeError(
                "Expected to mark a variable ready only once, but the gradient of parameter "
                f"{self.names[number]!r} has become ready a second time in one backward pass. "
                "Either it is used outside of the module's forward as well, or in several "
                "re-entrant checkpoints: pass use_reentrant=False to checkpoint, or "
                "static_graph=True to DistributedDataParallel if the graph does not change."
            )
        self.order.append(number)
        self._fill(number)
        self._send_full_buckets()

    # ------------------------------------------------------------------------------ one backward

    def _begin(self, running: engine.Pass) -> None:
        for _, wait in self._sent:  # of a pass that an error has ended
            if wait is not None:
                with suppress(Exception):
                    wait()
        self._pass = running
        self.outputs.forget_the_unknown()
        self.on_late_sync()
        self.measured.backward_begins()
        self._sent, self.order = [], []
        for bucket in self.buckets:
            bucket.pending = len(bucket.numbers)
        is_first = self.iteration == 0
        if self.static and not is_first:
            self._left, self._fires = self._fires, [0] * len(self._fires)
            absent = {number for number, times in enumerate(self._left) if times == 0}
        else:
            self._fires, self._left = [0] * len(self._fires), [1] * len(self._left)
            absent = self._absent(running)
        with advising(self.iteration):
            self._divisor = self._ask_divisor()
            if not self.find_unused and not self.static:
                self._demand_none(absent, is_first)
        running.callbacks.append(self._finish)
        absent = set() if self.static and is_first else absent
        self.may_be_static = self.may_be_static and (is_first or absent == self.missing)
        self.missing = absent
        if self.find_unused and not absent and is_first and not self.static:
            unused.warn_of_none()
        for number in sorted(self.missing):
            self._fill(number)
        if self.missing:
            self._send_full_buckets()

    def _absent(self, running: engine.Pass) -> set[int]:
        """The parameters that will get no gradient in this pass, as far as can be known."""
        absent = {
            number
            for number, p in enumerate(self.parameters)
            if p._accumulate is None or not running.reaches(p._accumulate)
        }
        self._may_reenter = bool(absent) and unused.has_reentry(running)
        return set() if self._may_reenter else absent

    def _demand_none(self, absent: set[int], is_first: bool) -> None:
        """Raise if there are unused parameters, before any gradient is collected: at first all ranks
        agree on it; a rank that finds one later fails, and the others are told."""
        if is_first:
            everywhere = unused.gather(self.group, absent, len(self.parameters))
            if everywhere:
                self._pass = None
                raise RuntimeError(unused.explain(everywhere, self.names))
        elif absent:
            self._pass = None
            text = unused.explain({self.group.rank(): absent}, self.names)
            raise unused.tell(self.group, RuntimeError(text))

    def _ask_divisor(self) -> int:
        if self.forward_work is None:
            return self.size
        (work, by_initial), self.forward_work = self.forward_work, None
        (count,) = work.result()
        return self.size if by_initial else int(count.array[0])

    def _fill(self, number: int) -> None:
        """Put a parameter's gradient (or zeros) into its bucket, divided."""
        p, (bucket, position) = self.parameters[number], self._place[number]
        if not (self.whole_buckets or self._leaves_alone()):
            gradients.put(p, bucket.views[position], self._divides_by(), self.as_views)
        bucket.pending -= 1

    def _send_full_buckets(self) -> None:
        """Send, in order, what is full; the last bucket at the end of the pass."""
        buckets = self.buckets
        while len(self._sent) < len(buckets) - 1 and not buckets[len(self._sent)].pending:
            self._send(buckets[len(self._sent)])

    def _divides_by(self) -> int | None:
        """What a gradient is divided by on its way into the bucket; a hook divides for itself."""
        return self._divisor if self.hook is None else None

    def _leaves_alone(self) -> bool:
        """Whether each gradient is its own average already, and stays where it is."""
        is_plain = self.hook is None and not self.as_views and self.dtype is None
        return self.size == 1 and is_plain and not self._steps_at_once

    def _send(self, bucket: Bucket) -> None:
        if self._leaves_alone():
            self.measured.bucket_is_sent(bucket.index)
            self.measured.bucket_is_back(bucket.index)
            self._sent.append((bucket, None))
            return
        if self.whole_buckets:
            for p, view in zip(bucket.parameters, bucket.views, strict=True):
                gradients.put(p, view, None, self.as_views)
            if self.hook is None:
                np.divide(
                    bucket.flat.array,
                    bucket.flat.array.dtype.type(self._divisor),
                    out=bucket.flat.array,
                )
        wait = None
        if not (self.skip_unused and self.missing.issuperset(bucket.numbers)):
            is_last = bucket.index == len(self.buckets) - 1
            self.measured.bucket_is_sent(bucket.index)
            wait = self.communicate(bucket.as_seen_by_hooks(is_last))
        self._sent.append((bucket, wait))

    def communicate(self, bucket: GradBucket) -> Callable[[], TensorBase]:
        """Begin to reduce a bucket; what is returned waits for the result."""
        index = bucket.index()
        if self.hook is not None:
            hook, state = self.hook
            future = hook(state, bucket)

            def result() -> TensorBase:
                found = future.wait()
                self.measured.bucket_is_back(index)
                return found[0] if isinstance(found, (list, tuple)) else found  # type: ignore[no-any-return]

            return result
        flat = bucket.buffer()
        beside = self.size > 1 and not bucket.is_last()
        work = all_reduce(flat, group=self.group, async_op=beside)
        if work is None:
            self.measured.bucket_is_back(index)
            return lambda: flat
        work.get_future().add_done_callback(lambda _: self.measured.bucket_is_back(index))

        def waited() -> TensorBase:
            work.wait()
            return flat

        return waited

    def _finish(self) -> None:
        """At the end of the pass: send the rest, wait for everything, hand the averages out."""
        self.measured.backward_is_computed()
        open_buckets = list(self.buckets)
        try:
            with advising(self.iteration):
                self._complete()
                for bucket in self.buckets[len(self._sent) :]:
                    self._send(bucket)
                more = [begin() for begin in self.extra]
                here = {n for n in self.missing if gradients.of(self.parameters[n]) is None}
                nowhere = self._unused_everywhere(here)
                for bucket, wait in self._sent:
                    if wait is not None:
                        self._hand_out(bucket, wait(), nowhere)
                    open_buckets.remove(bucket)
                for late in more:
                    late()
                while self.extra_futures:
                    self.extra_futures.pop().wait()
                if self.iteration == 0:
                    self.rebuild()
        except BaseException:
            for bucket in open_buckets:
                for p in bucket.parameters:
                    gradients.keep(p, None)  # rather none than one that was not averaged
            raise
        finally:
            self._pass, self._sent = None, []
            self.measured.backward_ends()
        self.iteration += 1

    def _complete(self) -> None:
        """See to it that every parameter has arrived."""
        if self.static and self.iteration == 0:
            self.missing = {number for number, times in enumerate(self._fires) if not times}
            for number in [*self.order, *sorted(self.missing)]:
                self._fill(number)
        elif self._may_reenter or self.static:
            late = {number for number, left in enumerate(self._left) if left > 0}
            if late and not self.find_unused:
                text = unused.explain({self.group.rank(): late}, self.names)
                raise unused.tell(self.group, RuntimeError(text))
            for number in sorted(late):
                self._fill(number)
            self.missing |= late

    def _unused_everywhere(self, here: set[int]) -> set[int]:
        """The parameters that no rank has a gradient for (here: these); they keep none."""
        if self.static and self.iteration > 0:
            return self._never
        if not (self.find_unused or self.static) or self.skip_unused:
            return set()
        found = unused.everywhere(self.group, here, len(self.parameters))
        if self.static:
            self._never = found
        return found

    def _hand_out(self, bucket: Bucket, flat: TensorBase, nowhere: set[int]) -> None:
        if flat is not bucket.flat:
            bucket.flat.array[...] = flat.array.reshape(-1)
        for number, p, view in zip(bucket.numbers, bucket.parameters, bucket.views, strict=True):
            if number not in nowhere:
                gradients.give(p, view, self.as_views)
                self._step_at_once(p)

    def _step_at_once(self, p: Any) -> None:
        """Let a parameter's own optimizers step (see `_apply_optimizer_in_backward`)."""
        if self._steps_at_once and "_in_backward_optimizers" in p.__dict__:
            for optimizer in p._in_backward_optimizers:
                optimizer.step()
            p._grad = None

    def reduce_now(self) -> None:
        """Average what is in `.grad`, outside of a backward pass; that is no iteration."""
        self._divisor, self._sent, self.missing = self.size, [], set()
        empty = {n for n, p in enumerate(self.parameters) if p._grad is None}
        nowhere = unused.everywhere(self.group, empty, len(self.parameters))
        for number in range(len(self.parameters)):
            self._fill(number)
        for bucket in self.buckets:
            self._send(bucket)
        more = [begin() for begin in self.extra]
        for bucket, wait in self._sent:
            if wait is not None:
                self._hand_out(bucket, wait(), nowhere)
        for late in more:
            late()
        self._sent = []

    # ------------------------------------------------------------------------- better buckets

    def rebuild(self) -> None:
        """After the first reduction: buckets in the order in which gradients became ready on rank 0."""
        if not self.parameters or (self.find_unused and not self.static):
            return
        seen = set(self.order)
        rest = [number for number in reversed(range(len(self.parameters))) if number not in seen]
        order = np.array([*self.order, *rest], np.int64)
        if self.size > 1:
            device = self.parameters[0].storage.device
            broadcast(base.new(Tensor, order, device), group=self.group, group_src=0)
        numbers: list[int] = order.tolist()
        self.build(assign(self.parameters, self.caps.for_good(), numbers))
        self.has_rebuilt = True

    # ------------------------------------------------------------------- a rank without inputs

    def shadow(self) -> None:
        """Answer the collectives of one backward pass of the other ranks, with zeros (see Join). The
        averages are handed out here as well: an optimizer may own parameters on this rank."""
        count = len(self.parameters)
        if self.iteration == 0 and not self.find_unused and not self.static:
            unused.gather(self.group, set(), count)
        self.order, self.missing, waits = [], set(range(count)), []
        for bucket in self.buckets:
            bucket.flat.array[...] = 0
            for p, view in zip(bucket.parameters, bucket.views, strict=True):
                if p._grad is view:
                    p._grad = None
            is_last = bucket.index == len(self.buckets) - 1
            waits.append((bucket, self.communicate(bucket.as_seen_by_hooks(is_last))))
        more = [begin() for begin in self.extra]
        nowhere = self._unused_everywhere(set(range(count)))
        for bucket, wait in waits:
            self._hand_out(bucket, wait(), nowhere)
        for late in more:
            late()
        if self.iteration == 0:
            self.rebuild()
        self.iteration += 1

    def __repr__(self) -> str:
        sizes = ", ".join(str(bucket.nbytes) for bucket in self.buckets)
        return (
            f"<Reducer of {len(self.parameters)} parameters over {self.size} ranks, buckets of "
            f"[{sizes}] bytes, {self.iteration} reductions done>"
        )
