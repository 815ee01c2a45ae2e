"""A node of the graph: one operation that was computed, and how its gradients are computed.

Edges run from a result back to what it was made of; gradients travel along them (see `engine`).
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from minitorch_dist.tensors import devices, watch, work
from minitorch_dist.tensors.base import Array, TensorBase
from minitorch_dist.tensors.hooks import NodeHooks, RemovableHandle
from minitorch_dist.tensors.storage import Storage

Gradient: TypeAlias = "Array | None"
Edge: TypeAlias = "tuple[Node, int]"
Read: TypeAlias = tuple[Storage, int, Array]  # what was read, and which version of it
Vjp: TypeAlias = "Callable[[Array], Array]"

Asked: TypeAlias = "Callable[[Node], bool]"

_count = itertools.count()
LEAVES_FIRST: Final = 1 << 62  # leaves collect as soon as their gradient is complete


FREED: Final = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they "
    "have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


class Node:
    """One recorded operation: whom its gradients go to, and how to compute them.

    `sequence` grows with time; the engine runs the newest ready node first. `owns` says that the
    arrays this node returns belong to nobody else, so a leaf may keep them without copying.
    """

    __slots__ = ("__weakref__", "_metadata", "backward", "device", "edges", "forgotten", "hooks", "name_",
                 "outputs", "owns", "reads", "sequence", "vjps")  # fmt: skip

    def __init__(
        self, name: str, edges: tuple[Edge | None, ...], device: devices.device = devices.CPU
    ) -> None:
        self.name_ = name
        self.edges = edges
        self.sequence = next(_count)
        self.backward: Callable[..., Sequence[Gradient]] | None = None
        self.vjps: Sequence[Vjp | None] | None = None
        self.reads: list[Read] | None = None
        self.outputs = 1
        self.owns = False
        self.device = device
        self.hooks: NodeHooks | None = None
        self._metadata: dict[Any, Any] | None = None
        self.forgotten: tuple[Any, int] | None = None
        if watch.on:
            watch.made(self)

    def run(self, grads: Sequence[Gradient], is_asked: Asked | None = None) -> Sequence[Gradient]:
        """The gradients of the inputs, given those of the outputs: one (or None) per edge. What leads
        only to nodes that are not asked for need not be computed."""
        vjps, backward = self.vjps, self.backward  # once: another thread may release them
        for storage, version, array in self.reads or ():
            if storage.version != version:
                raise modified(array, self.name_, storage.version, version)
        if vjps is not None:
            grad = grads[0]
            if grad is not None and is_asked is not None:
                return [
                    vjp(grad)
                    if vjp is not None and edge is not None and is_asked(edge[0])
                    else None
                    for vjp, edge in zip(vjps, self.edges, strict=True)
                ]
            if grad is not None:
                return [None if vjp is None else vjp(grad) for vjp in vjps]
        elif backward is None:
            self.recall()
            return self.run(grads)
        elif self.outputs > 1 or grads[0] is not None:
            return backward(*grads)
        return [None] * len(self.edges)

    def run_watched(self, grads: Sequence[Gradient]) -> Sequence[Gradient]:
        """As `run`, while `detect_anomaly` is on or work is counted."""
        outer = work.running.set(self)
        try:
            results = self.run(grads)
            if watch.anomaly:
                watch.check_for_nan(self.name_, results)
        except Exception:
            if watch.anomaly:
                watch.report(self)
            raise
        finally:
            work.running.reset(outer)
        return results

    def release(self) -> None:
        """Forget what was read. Nodes that read nothing can run again, as in torch."""
        if self.reads is not None:
            self.reads = self.vjps = self.backward = None

    # What a checkpoint does to it (see `forgetting`).

    def kept(self) -> list[Array]:
        """The arrays it keeps for its gradient, as far as they were declared."""
        return [array for _, _, array in self.reads or ()]

    def drop(self) -> bool:
        """Let go of what is kept; False if there is nothing."""
        if self.vjps is None and self.backward is None:
            return False
        self.reads = self.vjps = self.backward = None
        return True

    def forget(self, stretch: Any, place: int) -> bool:
        """Drop what is kept until `recall`. Of nested stretches the outermost is responsible."""
        inner = self.forgotten is not None and self.forgotten[0].depth > stretch.depth
        if not self.drop() and not inner:
            return False
        self.forgotten = stretch, place
        return True

    def recall(self) -> None:
        """Compute again what was forgotten. Raises if it was freed instead."""
        if self.forgotten is None:
            raise RuntimeError(FREED)
        self.forgotten[0].recall()
        if self.forgotten is not None:
            self.recall()  # a stretch within that stretch has still to run

    def take_over(self, other: Node) -> None:
        """Take the contents of `other`, which is the same operation run again."""
        self.vjps, self.backward, self.reads = other.vjps, other.backward, other.reads
        self.forgotten = other.forgotten
        if self.forgotten is not None:
            self.forgotten[0].replace(self.forgotten[1], self)

    def hooked(self) -> NodeHooks:
        """The place where this node's hooks are registered."""
        if self.hooks is None:
            self.hooks = NodeHooks()
        return self.hooks

    # What users of torch's nodes look at.

    def name(self) -> str:
        return self.name_

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
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


_FLOAT_NAMES = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
                "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
                "uint8": "Byte", "bool": "Bool"}  # fmt: skip


def type_name(array: Array) -> str:
    return f"torch.{_FLOAT_NAMES.get(str(array.dtype), str(array.dtype))}Tensor"


_kinds: dict[str, type[Node]] = {}


def kind(name: str) -> type[Node]:
    """The class of nodes with this name, so that `type(t.grad_fn).__name__` tells the operation."""
    found = _kinds.get(name)
    if found is None:
        found = _kinds[name] = type(name, (Node,), {"__slots__": ()})
    return found


def modified(array: Array, reader: str, version: int, expected: int) -> RuntimeError:
    """The error for a tensor that was written in place between its use and the backward pass."""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{type_name(array)} {list(array.shape)}], which {reader} reads, is at version "
        f"{version}; expected version {expected} instead. Hint: clone() the tensor before the "
        "in-place operation, or find it with autograd.set_detect_anomaly(True)."
    )


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to the gradient of a leaf.

    The leaf owns this node; the node only knows the leaf, so that deleting a parameter frees it.
    """

    __slots__ = ("_leaf",)

    def __init__(self, leaf: TensorBase) -> None:
        super().__init__("AccumulateGrad", ())
        self.sequence = LEAVES_FIRST
        self._leaf = weakref.ref(leaf)
        self.device = leaf.storage.device

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    @property
    def variable(self) -> TensorBase | None:
        """The leaf, unless it was deleted."""
        return self._leaf()
