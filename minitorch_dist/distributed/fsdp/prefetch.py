"""The order of work in FSDP: the units of one model, from the first forward to the end of backward.

    forward    unit 1 ┃ gather, compute, free ┃ unit 2 ┃ gather, compute, free ┃ …
    backward   … ┃ gather 2, compute, reduce_scatter ┃ gather 1, compute, reduce_scatter ┃
                        └ prefetch 1                      └ of 2, still on its way

The order of the units is noted in forward; backward asks in time for the one before. At most one unit
is gathered ahead, and one reduction is still on its way. So at most two units are whole at a time, however
deep the model is. With the outermost they are three: it stays whole from its forward on, because its
backward comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from minitorch_dist.distributed.fsdp.options import BackwardPrefetch, Precision
from minitorch_dist.distributed.fsdp.unit import PendingReduction, Unit
from minitorch_dist.distributed.nested_tensors import moved, tensors_in
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.autograd import passes
from minitorch_dist.tensors.autograd.hooks import RemovableHandle, hooks_of
from minitorch_dist.tensors.core import graph


class Prefetcher:
    """One model's way through forward and backward, shared by all its units."""

    def __init__(self, prefetch: BackwardPrefetch | None, forward_prefetch: bool) -> None:
        self.prefetch, self.forward_prefetch = prefetch, forward_prefetch
        self.units: list[Unit] = []
        self.order: list[Unit] = []  # of the last complete forward
        self._now: list[Unit] = []
        self._behind: PendingReduction | None = None
        self._ends_noted = False
        self._is_last_backward = True
        self._done: set[int] = set()  # units whose backward is over, in this pass

    # -------------------------------------------------------------------------------------- forward

    def begin(self) -> None:
        self._now = []

    def before_forward(self, unit: Unit) -> None:
        unit.unshard()
        if unit.in_backward:
            return  # a checkpoint computes again what it had forgotten
        if unit not in self._now:
            self._now.append(unit)
        for other in unit.ahead["forward"]:
            other.prefetch()
        if self.forward_prefetch:
            following = _neighbour(self.order, unit, +1)
            if following is not None:
                following.prefetch()

    def after_forward(self, unit: Unit, outputs: Any, frees: bool) -> None:
        recorded = [
            graph.edge_of(tensor)
            for tensor in tensors_in(outputs)
            if tensor._requires_grad and tensor._grad_fn is not None
        ]
        reached = partial(self.before_backward, unit, unit.flat.storage.version)
        for edge in recorded:
            if edge is not None:
                RemovableHandle(hooks_of(edge[0]).reached, reached)
        if (frees or not recorded) and not unit.in_backward:
            unit.reshard()

    def end(self) -> None:
        self.order = self._now

    # ------------------------------------------------------------------------------------- backward

    def before_backward(self, unit: Unit, version: int) -> None:
        if unit.in_backward:
            return
        if not self._ends_noted:
            self._ends_noted = True
            passes.queue_callback(self.finish)
            if self._behind is not None and self._behind.unit is unit:  # of the pass before
                self._settle()
        unit.before_backward(version)
        for other in unit.ahead["backward"]:
            other.prefetch()
        if self.prefetch is BackwardPrefetch.BACKWARD_PRE and not unit.ahead["backward"]:
            self._fetch_before(unit)

    def _fetch_before(self, unit: Unit) -> None:
        ahead = _neighbour(self.order, unit, -1)
        if ahead is not None and id(ahead) not in self._done and not ahead.in_backward:
            ahead.prefetch()

    def complete(self, unit: Unit) -> None:
        """All gradients of the unit are there."""
        self._settle()
        self._behind = unit.after_backward()
        self._done.add(id(unit))
        if self.prefetch is BackwardPrefetch.BACKWARD_POST:
            self._fetch_before(unit)

    def _settle(self) -> None:
        """Wait for the reduction that is still on its way."""
        reduction, self._behind = self._behind, None
        if reduction is not None:
            reduction.unit.take_reduced(reduction)

    def expect_last_backward(self, is_last: bool) -> None:
        """False: a backward pass may end with its last reduction on its way. True: nothing is on its way any more."""
        self._is_last_backward = is_last
        if is_last:
            self._settle()

    def finish(self) -> None:
        """Backward is over: nothing stays whole, and nothing on its way but for `expect_last_backward(False)`."""
        self._ends_noted = False
        for unit in self.units:
            if unit.in_backward and unit.is_collecting:
                self.complete(unit)
        if self._is_last_backward:
            self._settle()
        self._done.clear()
        for unit in self.units:
            unit.in_backward = False
            if not unit.stays_after_backward:
                unit.reshard()


def _neighbour(order: list[Unit], unit: Unit, step: int) -> Unit | None:
    number = order.index(unit) + step if unit in order else -1
    return order[number] if 0 <= number < len(order) else None


# --------------------------------------------------------------------------- around a module's forward

STATE = "_fsdp_state"


@dataclass
class FSDPState:
    """All that FSDP knows of one module."""

    unit: Unit | None
    prefetcher: Prefetcher
    frees: bool | None  # after forward; None: unless it is the root
    device: devices.device | None  # to which inputs are moved
    precision: Precision
    is_root: bool | None = None


def state_of(module: Module) -> FSDPState:
    return module.__dict__[STATE]  # type: ignore[no-any-return]


def states_in(module: Module) -> list[FSDPState]:
    """The states of all FSDP modules in the tree, that of `module` first."""
    return [state_of(m) for m in module.modules() if STATE in m.__dict__]


def settle(module: Module) -> None:
    """The outermost module takes those inside under its own prefetcher."""
    state = state_of(module)
    if state.is_root is not None:
        return
    for own in states_in(module):
        own.is_root, own.prefetcher = own is state, state.prefetcher
        if own.unit is not None:
            own.unit.when_complete = state.prefetcher.complete
            state.prefetcher.units.append(own.unit)


def before(module: Module, args: Any, kwargs: Any) -> Any:
    """A module's forward begins: its parameters become whole, and its inputs go where they are."""
    state: FSDPState = module.__dict__[STATE]
    if state.is_root is None:
        settle(module)
    if state.is_root:
        state.prefetcher.begin()
    if state.unit is not None:
        if state.device is devices.META:
            state.device = state.unit.materialise()
        state.prefetcher.before_forward(state.unit)
    if state.device is not None:
        precision = state.precision
        dtype = None if precision.param_dtype is None else precision.of_inputs(state.is_root)
        args, kwargs = moved((args, kwargs), state.device, dtype)
    return args, kwargs


def after(module: Module, _: Any, outputs: Any) -> Any:
    """A module's forward is over."""
    state: FSDPState = module.__dict__[STATE]
    if state.unit is not None:
        if state.precision.output_dtype is not None:
            outputs = moved(outputs, state.unit.settings.device, state.precision.output_dtype)
        frees = not state.is_root if state.frees is None else state.frees
        state.prefetcher.after_forward(state.unit, outputs, frees)
    if state.is_root:
        state.prefetcher.end()
    return outputs
