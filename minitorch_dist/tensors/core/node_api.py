"""The methods of a node beside its work: torch's names for it, its hooks, and the calls of a checkpoint.

`graph.Node` has the work itself: the tensors it read, and how it computes gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from minitorch_dist.tensors.core.base import Array, Storage
from minitorch_dist.tensors.core.dtypes import type_name
from minitorch_dist.tensors.core.hooks import NodeHooks, RemovableHandle

FREED: Final = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they "
    "have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


class NodeApi:
    """Everything about a node that is not on the road of an ordinary pass."""

    name_: str
    edges: tuple[tuple[Any, int] | None, ...]
    vjps: Sequence[Callable[[Array], Array] | None] | None
    backward: Callable[..., Sequence[Array | None]] | None
    reads: list[tuple[Storage, int, Array]] | None
    hooks: NodeHooks | None
    forgotten: tuple[Any, int] | None = None  # the checkpoint's segment, and the place in it
    _metadata: dict[Any, Any] | None = None

    # For a checkpoint (see `checkpointing`).

    def kept(self) -> list[Array]:
        """The arrays it keeps for its gradient, as far as they were declared."""
        return [array for _, _, array in self.reads or ()]

    def drop(self) -> bool:
        """Let go of what is kept; False if there is nothing."""
        if self.vjps is None and self.backward is None:
            return False
        self.reads = self.vjps = self.backward = None
        return True

    def recall(self) -> None:
        """Compute again what was forgotten. Raises if it was freed instead."""
        if self.forgotten is None:
            raise RuntimeError(FREED)
        self.forgotten[0].recall()
        if self.forgotten is not None:
            self.recall()  # a segment within that segment has still to run

    def take_over(self, other: Any) -> None:
        """Take the contents of `other`, which is the same operation run again."""
        self.vjps, self.backward, self.reads = other.vjps, other.backward, other.reads

    def hooked(self) -> NodeHooks:
        """The place where this node's hooks are registered."""
        if self.hooks is None:
            self.hooks = NodeHooks()
        return self.hooks

    # For complex numbers (see `ops.complex_numbers`).

    def run_complex(self, grads: Sequence[Array | None]) -> Sequence[Array | None]:
        """The gradients of the inputs, where those of the outputs are complex and values are read.

        A complex gradient is torch's, the conjugate of ∂L/∂z. The functions of a node multiply ∂L/∂z with
        derivatives, as they do for real numbers. So gradients are conjugated on their way in and on their way out.
        """
        given = [None if grad is None else grad.conj() for grad in grads]
        if self.vjps is None:
            results = list(self.backward(*given)) if self.backward is not None else []
        else:
            results = [None if vjp is None else vjp(given[0]) for vjp in self.vjps]  # type: ignore[arg-type]
        return [None if result is None else result.conj() for result in results]

    # For users of torch's nodes.

    def name(self) -> str:
        return self.name_

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(grad_outputs)` runs before this node and may return replacements."""
        return RemovableHandle(self.hooked().before, hook)

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(grad_inputs, grad_outputs)` runs after this node and may replace grad_inputs."""
        return RemovableHandle(self.hooked().after, hook)

    def __repr__(self) -> str:
        return f"<{self.name_} object at {id(self):#x}>"


def modified(array: Array, reader: str, version: int, expected: int) -> RuntimeError:
    """The error for a tensor that was written in place between its use and the backward pass."""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{type_name(array)} {list(array.shape)}], which {reader} reads, is at version "
        f"{version}; expected version {expected} instead. Hint: clone() the tensor before the "
        "in-place operation, or find it with autograd.set_detect_anomaly(True)."
    )
