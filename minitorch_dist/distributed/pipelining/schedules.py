"""torch's classes: a schedule is an order (see `orders`), the stages it runs, and `step()`.

stage = PipelineStage(part_of_the_model, rank, world_size, device)
schedule = Schedule1F1B(stage, n_microbatches=8, loss_fn=loss)
schedule.step(x)                          # on the first rank
schedule.step(target=y, losses=losses)    # on the last
schedule.step()                           # in between
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from minitorch_dist.distributed.pipelining import orders
from minitorch_dist.distributed.pipelining.microbatch import merge_chunks, split_arguments, split_tensor
from minitorch_dist.distributed.pipelining.orders import F, Make, Order, Pipe
from minitorch_dist.distributed.pipelining.runtime import Batch, PipelineStep
from minitorch_dist.distributed.pipelining.stage import PipelineStage
from minitorch_dist.distributed.pipelining.timing import ActionSpan, Timing, times
from minitorch_dist.distributed.pipelining.wires import PipelineMessages
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.tensor import Tensor


class _PipelineSchedule:
    """`make` gives each rank's order; the rest is the same for all."""

    make: Make

    def __init__(
        self,
        stages: Sequence[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        *,
        scale_grads: bool = True,
    ) -> None:
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be at least 1, got {n_microbatches}")
        first = stages[0]
        self.scale_grads = scale_grads
        self._stages = {stage.stage_index: stage for stage in stages}
        self._n_microbatches, self._loss_fn = n_microbatches, loss_fn
        self.pipe = Pipe(first.group_size, n_microbatches, len(stages))
        self._check_stages(first)
        everyones, self.planned = _planned(type(self).make, self.pipe, type(self).__name__)
        self.pipeline_order: dict[int, Order] = dict(enumerate(everyones))
        self._wires = PipelineMessages(list(self._stages.values()), n_microbatches)
        self.spans: list[ActionSpan] = []  # what the last step did, when

    def _check_stages(self, first: PipelineStage) -> None:
        rule = self.pipe._replace(local=-(-first.num_stages // first.group_size))
        own = [s for s in rule.stages_of(first.group_rank) if s < first.num_stages]
        if sorted(self._stages) != own:
            raise ValueError(
                f"rank {first.group_rank} of {first.group_size} was given the stages "
                f"{sorted(self._stages)} of {first.num_stages}, and should have {own}: stage s belongs to rank s % P"
            )

    # ----------------------------------------------------------------------------------------- steps

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        **kwargs: Any,
    ) -> Any:
        """One batch through the pipeline, forward and (with a loss) backward.

        The first rank gives the inputs, the last the target; it gets the outputs, and in `losses`
        those of the micro-batches.
        """
        has_backward = self._loss_fn is not None
        if has_backward and not grad_modes.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not "
                "be used under torch.no_grad() context. Please call eval() instead."
            )
        return self._run(self._batch(args, kwargs, target, return_outputs), losses, has_backward)

    def eval(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        **kwargs: Any,
    ) -> Any:
        """As `step`, forward only."""
        return self._run(self._batch(args, kwargs, target, return_outputs), losses, False)

    def _run(self, batch: Batch, losses: list[Any] | None, has_backward: bool) -> Any:
        for stage in self._stages.values():
            stage.clear_runtime_states()
            stage.has_backward = has_backward
        order = self.pipeline_order[stage.group_rank]
        if not has_backward:
            order = [action for action in order if action.kind is F]
        self._wires.begin(_signature(batch, has_backward))
        run = PipelineStep(self._stages, order, self._wires, batch)
        run.carry_out()
        self.spans = run.spans
        if has_backward and self.scale_grads:
            for stage in self._stages.values():
                stage.scale_grads(self._n_microbatches)
        last = self._stages.get(self.pipe.stages - 1)
        if last is None:
            return None
        if losses is not None:
            losses[:] = [run.losses[number] for number in sorted(run.losses)]
        return merge_chunks(last.output_chunks) if batch.keeps_outputs else None

    def _batch(self, args: tuple[Any, ...], kwargs: dict[str, Any], target: Any, keeps: bool) -> Batch:
        count = self._n_microbatches
        if 0 in self._stages and not args and not kwargs:
            raise ValueError("the first stage is on this rank: step() needs the model's inputs here")
        if self.pipe.stages - 1 in self._stages and self._loss_fn is not None and target is None:
            raise ValueError("the last stage is on this rank: step() needs target= here")
        split = split_arguments(args, kwargs, count)
        targets = None if target is None else split_tensor(target, count)
        return Batch(*split, targets, self._loss_fn, keeps)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {self.pipe.stages} stages on {self.pipe.ranks} ranks, "
            f"{self._n_microbatches} micro-batches, bubble {self.planned.bubble}>"
        )


def _signature(batch: Batch, has_backward: bool) -> Any:
    """The signature that decides the shapes of everything that will be sent."""

    def of(value: Any) -> Any:
        if isinstance(value, Tensor):
            return tuple(value.shape), str(value.dtype), value.requires_grad
        return type(value).__name__

    rows = [
        (*map(of, args), *((name, of(v)) for name, v in sorted(kwargs.items())))
        for args, kwargs in zip(batch.args, batch.kwargs, strict=True)
    ]
    return has_backward, grad_modes.is_grad_enabled(), rows


@lru_cache(2)
def _planned(make: Make, pipe: Pipe, name: str) -> tuple[list[Order], Timing]:
    """Everyone's order, and when all happens. Ranks of one process share it: with 64 ranks and 512 micro-batches it takes
    seconds. Raises where the orders wait for each other."""
    everyones = orders.everyones(make, pipe)
    for fault in orders.faults(everyones, pipe):
        raise ValueError(f"{name} is not a schedule: {fault}")
    return everyones, times(everyones, pipe)


class PipelineScheduleSingle(_PipelineSchedule):
    """One stage on each rank."""

    def __init__(self, stage: PipelineStage, n_microbatches: int, *args: Any, **kwargs: Any) -> None:
        if stage.num_stages != stage.group_size:
            raise ValueError(
                f"{type(self).__name__} has one stage on each rank, but there are "
                f"{stage.num_stages} stages on {stage.group_size} ranks"
            )
        super().__init__([stage], n_microbatches, *args, **kwargs)


class PipelineScheduleMulti(_PipelineSchedule):
    """Several stages on each rank: s, s + P, s + 2P, …"""


class ScheduleGPipe(PipelineScheduleSingle):
    """All micro-batches forward, then all backward; one stage on each rank (arXiv:1811.06965).

    Args:
        stage: The stage of this rank.
        n_microbatches: Into how many parts a batch is cut.
        *args: The loss function, as in torch.
        **kwargs: `loss_fn`, and `scale_grads` (divide gradients by the number of micro-batches).

    Example:
        >>> from minitorch_dist.distributed.pipelining import PipelineStage, ScheduleGPipe
        >>> def train():
        ...     rank, layer = dist.get_rank(), nn.Linear(2, 2)
        ...     pipeline = ScheduleGPipe(PipelineStage(layer, rank, 2, "cpu"), 4, nn.functional.mse_loss)
        ...     batch = (torch.ones(8, 2),) if rank == 0 else ()
        ...     target = torch.zeros(8, 2) if rank == 1 else None
        ...     pipeline.step(*batch, target=target)
        ...     return layer.weight.grad is not None
        >>> sim.run(train, 2).results
        [True, True]
    """

    make = staticmethod(orders.gpipe)


class Schedule1F1B(PipelineScheduleSingle):
    """One forward, one backward, as soon as the pipeline is full; one stage on each rank (arXiv:1806.03377).

    A rank keeps the activations of at most P micro-batches, and not of all, as with GPipe.

    Args:
        stage: The stage of this rank.
        n_microbatches: Into how many parts a batch is cut.
        *args: The loss function, as in torch.
        **kwargs: `loss_fn`, and `scale_grads` (divide gradients by the number of micro-batches).

    Example:
        >>> from minitorch_dist.distributed.pipelining import PipelineStage, Schedule1F1B
        >>> def train():
        ...     rank, layer = dist.get_rank(), nn.Linear(2, 2)
        ...     pipeline = Schedule1F1B(PipelineStage(layer, rank, 2, "cpu"), 4, nn.functional.mse_loss)
        ...     batch = (torch.ones(8, 2),) if rank == 0 else ()
        ...     target = torch.zeros(8, 2) if rank == 1 else None
        ...     pipeline.step(*batch, target=target)
        ...     return layer.weight.grad is not None
        >>> sim.run(train, 2).results
        [True, True]
    """

    make = staticmethod(orders.one_forward_one_backward)


class ScheduleLoopedBFS(PipelineScheduleMulti):
    make = staticmethod(orders.looped_breadth_first)


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """1F1B with several stages on each rank: s, s + P, s + 2P, …, which makes the bubble shorter (arXiv:2104.04473).

    Args:
        stages: The stages of this rank.
        n_microbatches: Into how many parts a batch is cut.
        loss_fn: The loss of an output and a target.
        scale_grads: Divide gradients by the number of micro-batches.

    Example:
        >>> from minitorch_dist.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B
        >>> def train():
        ...     rank = dist.get_rank()
        ...     stages = [PipelineStage(nn.Linear(2, 2), rank + 2 * i, 4, "cpu") for i in range(2)]
        ...     pipeline = ScheduleInterleaved1F1B(stages, 4, nn.functional.mse_loss)
        ...     batch = (torch.ones(8, 2),) if rank == 0 else ()
        ...     pipeline.step(*batch, target=torch.zeros(8, 2) if rank == 1 else None)
        ...     return "done"
        >>> sim.run(train, 2).results
        ['done', 'done']
    """

    make = staticmethod(orders.interleaved)


class ScheduleInterleavedZeroBubble(PipelineScheduleMulti):
    """Interleaved 1F1B whose backward is cut in two, so that weights' gradients fill the bubble (arXiv:2401.10241).

    Args:
        stages: The stages of this rank.
        n_microbatches: Into how many parts a batch is cut.
        loss_fn: The loss of an output and a target.
        scale_grads: Divide gradients by the number of micro-batches.

    Example:
        >>> from minitorch_dist.distributed.pipelining import PipelineStage, ScheduleInterleavedZeroBubble
        >>> def train():
        ...     rank = dist.get_rank()
        ...     stages = [PipelineStage(nn.Linear(2, 2), rank + 2 * i, 4, "cpu") for i in range(2)]
        ...     pipeline = ScheduleInterleavedZeroBubble(stages, 4, nn.functional.mse_loss)
        ...     batch = (torch.ones(8, 2),) if rank == 0 else ()
        ...     pipeline.step(*batch, target=torch.zeros(8, 2) if rank == 1 else None)
        ...     return "done"
        >>> sim.run(train, 2).results
        ['done', 'done']
    """

    make = staticmethod(orders.interleaved_zero_bubble)


def get_schedule_class(schedule_name: str) -> type[_PipelineSchedule]:
    """A schedule by name, in any case: "1F1B", "gpipe", "Interleaved1F1B", …"""
    for name, cls in _BY_NAME.items():
        if name.lower() == schedule_name.lower():
            return cls
    raise ValueError(f"Unknown schedule name {schedule_name!r}. The valid options are {', '.join(_BY_NAME)}")


_ALL = (ScheduleGPipe, Schedule1F1B, ScheduleLoopedBFS, ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble)
_BY_NAME: dict[str, type[_PipelineSchedule]] = {cls.__name__.removeprefix("Schedule"): cls for cls in _ALL}
