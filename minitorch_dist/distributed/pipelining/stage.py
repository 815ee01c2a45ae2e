"""One stage of a pipeline: a part of the model, and what is computed with it for one micro-batch.

forward    inputs (cut off from their history) ─► submodule ─► outputs, kept until backward
backward   gradients of the outputs ─► gradients of parameters and of the inputs
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from minitorch_dist.distributed.groups import ProcessGroup, resolve
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.ops import gradients
from minitorch_dist.tensors.tensor import Tensor


class SavedForward(NamedTuple):
    """The data that a micro-batch leaves behind until its backward."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


class PipelineStage:
    """A stage of a pipeline on this rank; stage s belongs to rank s % P of the group.

    Args:
        submodule: The layers of this stage.
        stage_index: The number of the stage, from 0.
        num_stages: How many stages the pipeline has.
        device: The simulated device, or "cpu".
        input_args: Accepted as in torch; shapes travel with the first micro-batches.
        output_args: The same.
        output_grads: The same.
        input_grads: The same.
        group: The ranks of the pipeline; None means all.

    Example:
        >>> from minitorch_dist.distributed.pipelining import PipelineStage
        >>> def program():
        ...     stage = PipelineStage(nn.Linear(2, 2), dist.get_rank(), 2, "cpu")
        ...     return stage.is_first, stage.is_last
        >>> sim.run(program, 2).results
        [(True, False), (False, True)]
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: devices.device | str | int,
        input_args: Tensor | tuple[Tensor, ...] | None = None,
        output_args: Tensor | tuple[Tensor, ...] | None = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: ProcessGroup | None = None,
    ) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(
                f"Stage index {stage_index} is out of range of {num_stages} stages: stages are counted from 0"
            )
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device = devices.resolve(devices.device(device))
        self.group = resolve(group)
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            raise ValueError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages "
                f"{num_stages}: some ranks would have nothing to do"
            )
        self.stage_index_to_group_rank = {s: s % self.group_size for s in range(num_stages)}
        self.has_backward = False
        self.output_chunks: list[Any] = []
        self._held: dict[int, SavedForward] = {}
        self._later: dict[int, Callable[[], None]] = {}  # weights' gradients still to compute

    @property
    def is_first(self) -> bool:
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        self._held.clear()
        self._later.clear()
        self.output_chunks = []

    @property
    def in_flight(self) -> int:
        """How many micro-batches it holds activations of."""
        return len(self._held)

    # -------------------------------------------------------------------------------------- forward

    def forward_one_chunk(
        self,
        chunk: int,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        save_forward_output: bool = True,
        synchronises: bool = True,
    ) -> Any:
        """The submodule's output for micro-batch `chunk`."""
        with self._quietly(synchronises):
            output = self.submod(*args, **(kwargs or {}))
        outputs = as_tuple(output)
        if not all(isinstance(one, Tensor) for one in outputs):
            raise TypeError(
                f"stage {self.stage_index} returned {[type(one).__name__ for one in outputs]}; what "
                "goes on to the next stage has to be a tensor or a tuple of tensors"
            )
        if self.is_last and save_forward_output:
            self.output_chunks.append(output)
        if self.has_backward:
            self._held[chunk] = SavedForward(args, outputs)
        return output

    def _quietly(self, synchronises: bool) -> AbstractContextManager[Any]:
        """A replicated or sharded submodule reduces its gradients with the last micro-batch only. Until then a
        sharded one keeps its parameters gathered after backward."""
        synchronise = getattr(self.submod, "set_requires_gradient_sync", None)
        if synchronise is not None:  # `fully_shard` has made it
            synchronise(synchronises)
            self.submod.set_reshard_after_backward(synchronises)
            return nullcontext()
        quiet = getattr(self.submod, "no_sync", None)
        return nullcontext() if synchronises or quiet is None else quiet()

    # ------------------------------------------------------------------------------------- backward

    def backward_one_chunk(
        self,
        chunk: int,
        loss: Tensor | None = None,
        grads: Sequence[Tensor | None] = (),
        full_backward: bool = True,
        last_backward: bool = False,
    ) -> tuple[Tensor | None, ...]:
        """The gradients of the inputs, for the stage before; parameters collect theirs.

        With `full_backward=False` the parameters wait for `backward_weight_one_chunk`.
        """
        held = self._held.pop(chunk)
        roots, arrived = _to_start_from(held.outputs, loss, grads)
        inputs = [t for t in held.inputs if isinstance(t, Tensor) and t.requires_grad]
        with self._quietly(last_backward):
            if not roots:
                found: Sequence[Tensor | None] = [None] * len(inputs)
            elif full_backward:
                gradients.backward(roots, arrived)
                found = [t.grad for t in inputs]
            else:
                found = self._inputs_only(chunk, roots, arrived, inputs)
        by_input = dict(zip(map(id, inputs), found, strict=True))
        return tuple(by_input.get(id(t)) for t in held.inputs)

    def _inputs_only(
        self, chunk: int, roots: list[Tensor], arrived: Any, inputs: list[Tensor]
    ) -> Sequence[Tensor | None]:
        """Walk the graph to the inputs; later once more, to the parameters."""
        params = [p for p in self.submod.parameters() if p.requires_grad]

        def weights() -> None:
            if params:
                gradients.backward(roots, arrived, inputs=params)

        self._later[chunk] = weights
        if not inputs:
            return []
        return gradients.grad(roots, inputs, arrived, retain_graph=True, allow_unused=True)

    def backward_weight_one_chunk(self, chunk: int, last_backward: bool = False) -> None:
        later = self._later.pop(chunk, None)
        if later is not None:
            with self._quietly(last_backward):
                later()

    def scale_grads(self, factor: int) -> None:
        """Means over micro-batches: the sums are divided."""
        if factor != 1:
            with grad_modes.no_grad():
                for p in self.submod.parameters():
                    if p.grad is not None:
                        p.grad.div_(factor)

    def __repr__(self) -> str:
        return (
            f"<PipelineStage {self.stage_index} of {self.num_stages} on rank {self.group_rank}: "
            f"{type(self.submod).__name__}, {self.in_flight} micro-batches in flight>"
        )


def as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _to_start_from(
    outputs: tuple[Any, ...], loss: Tensor | None, grads: Sequence[Tensor | None]
) -> tuple[list[Tensor], list[Tensor | None] | None]:
    """The loss, or the outputs whose gradients the next stage has sent."""
    if loss is not None:
        return ([loss], None) if loss.requires_grad else ([], None)
    pairs = [(out, grad) for out, grad in zip(outputs, grads, strict=True) if grad is not None and out.requires_grad]
    return [out for out, _ in pairs], [grad for _, grad in pairs]
