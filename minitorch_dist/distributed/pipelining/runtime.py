"""Carry out a rank's order: receive what an action needs, compute, send on what it made.

Sends leave beside the computation, and what the next action needs is asked for before this one is
computed; so no order that `timing` can carry out gets stuck here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minitorch_dist.distributed import world
from minitorch_dist.distributed.nested_tensors import moved
from minitorch_dist.distributed.pipelining.orders import Action, B, F, I, Order, W
from minitorch_dist.distributed.pipelining.stage import PipelineStage, as_tuple
from minitorch_dist.distributed.pipelining.timing import ActionSpan
from minitorch_dist.distributed.pipelining.wires import BACKWARD, FORWARD, PipelineMessages
from minitorch_dist.tensors.tensor import Tensor


class Batch(NamedTuple):
    """One step's micro-batches; parts that a rank does not need are empty there."""

    args: Sequence[tuple[Any, ...]]
    kwargs: Sequence[Mapping[str, Any]]
    targets: Sequence[Any] | None
    loss: Callable[[Any, Any], Any] | None
    keeps_outputs: bool


class PipelineStep:
    """One step of this rank's stages."""

    def __init__(
        self, stages: Mapping[int, PipelineStage], order: Order, wires: PipelineMessages, batch: Batch
    ) -> None:
        self.stages, self.order, self.wires, self.batch = stages, order, wires, batch
        self.losses: dict[int, Tensor] = {}
        self.spans: list[ActionSpan] = []
        self._last = {one.stage: one for one in order if one.kind in (B, W)}  # complete their stages' gradients

    def carry_out(self) -> None:
        clock = world.place().clock
        for number, action in enumerate(self.order):
            received = self._take(action)
            if number + 1 < len(self.order):
                self._expect(self.order[number + 1], action)
            begin = clock.now()
            self._compute(action, received)
            self.spans.append(ActionSpan(action, begin, clock.now()))
        self.wires.end()

    def _take(self, action: Action) -> list[Any]:
        stage = self.stages[action.stage]
        if action.kind is F and not stage.is_first:
            return self.wires.take(action.stage, action.microbatch, FORWARD)
        if action.kind in (B, I) and not stage.is_last:
            return self.wires.take(action.stage, action.microbatch, BACKWARD)
        return []

    def _expect(self, following: Action, now: Action) -> None:
        stage, kind, number = following
        if kind is F and not self.stages[stage].is_first:
            self.wires.expect(stage, number, FORWARD)
        elif kind in (B, I) and not self.stages[stage].is_last and now != Action(stage, F, number):
            self.wires.expect(stage, number, BACKWARD)

    def _compute(self, action: Action, received: list[Any]) -> None:
        if action.kind is F:
            self._forward(action, received)
        elif action.kind is W:
            last = action == self._last[action.stage]
            self.stages[action.stage].backward_weight_one_chunk(action.microbatch, last)
        else:
            self._backward(action, received)

    def _forward(self, action: Action, received: list[Any]) -> None:
        stage, number = self.stages[action.stage], action.microbatch
        args = moved(self.batch.args[number] if stage.is_first else received, stage.device)
        kwargs = dict(self.batch.kwargs[number])
        synchronises = self._last.get(action.stage, action).microbatch == number
        output = stage.forward_one_chunk(number, args, kwargs, self.batch.keeps_outputs, synchronises)
        if not stage.is_last:
            self.wires.send(action.stage, number, as_tuple(output), FORWARD)
        elif self.batch.loss is not None and self.batch.targets is not None:
            (target,) = moved([self.batch.targets[number]], stage.device)
            self.losses[number] = self.batch.loss(output, target)

    def _backward(self, action: Action, grads: list[Any]) -> None:
        stage, number = self.stages[action.stage], action.microbatch
        loss = self.losses.get(number) if stage.is_last else None
        is_last = action == self._last[action.stage]
        found = stage.backward_one_chunk(number, loss, grads, full_backward=action.kind is B, last_backward=is_last)
        if not stage.is_first:
            self.wires.send(action.stage, number, found, BACKWARD)
