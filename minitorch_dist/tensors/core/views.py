"""Two ways to share bytes: views, and writing in place.

A view is another window on its base's storage. A write through any of them bumps the storage's
version. While recording is on, the write is recorded, too, *at the base*. The base becomes
"what it was, with this region replaced by that result". Every other view then rebuilds
its own history from the base when it is next used (`graph.refresh`).

    base ── CopySlices ──► what it was, the region blanked
                 └───────► the result that was written
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, Final, ParamSpec

from minitorch_dist.tensors.core import grad_mode, graph, observers
from minitorch_dist.tensors.core.base import Array, Storage, T, TensorBase, bare
from minitorch_dist.tensors.core.graph import KINDS, Edge
from minitorch_dist.tensors.core.view_geometry import window_of

P = ParamSpec("P")
# Why a view must not be written to while operations are recorded.
NO_GRAD: Final = "it was made in no_grad mode. Do both inside the block, or both outside"
INFERENCE: Final = "it was made in inference mode. Do both inside the block, or both outside"
SEVERAL: Final = "it is one of several views that one function has returned. clone() it"
CUSTOM: Final = "it was made inside a custom Function, whose backward would not know of the write. clone() it"


def view_of(self: T, array: Array, name: str, vjp: Callable[[Array], Array], note: str = "") -> T:
    """`array`, a window on the memory of `self`, as a tensor. `vjp` widens its gradient."""
    storage = self.storage
    out: T = bare(self.plain, array, storage)
    out._base = self if self._base is None else self._base
    mode = grad_mode.current_mode()
    if mode == grad_mode.ON:
        if self._base is not None:
            graph.refresh(self)
        if self._requires_grad:
            out._grad_fn = KINDS[name](name, (graph.edge_of(self),), storage.device, (vjp,))
            out._requires_grad = True
        if note or self._view_note:
            out._view_note = self._view_note or note
    else:
        out._view_note = note_of(mode)
    out._seen_version = storage.version
    if self._inference:
        out._inference = True
    return out


def note_of(mode: int) -> str:
    return INFERENCE if mode == grad_mode.INFERENCE else NO_GRAD


# --------------------------------------------------------------------------------- writing in place


def inplace(operation: Callable[Concatenate[T, P], T]) -> Callable[Concatenate[T, P], T]:
    """The in-place form of an operation: compute, store the result in `self`, return `self`."""

    def write_result(input: T, *args: P.args, **kwargs: P.kwargs) -> T:
        check_writable(input)
        out = operation(input, *args, **kwargs)
        node = out._grad_fn
        if node is not None and any(read[2] is input.array for read in node.reads or ()):
            out = operation(_before(input), *args, **kwargs)  # its gradient reads what was here
        return write(input, out)

    write_result.__module__ = operation.__module__
    write_result.__name__ = write_result.__qualname__ = operation.__name__ + "_"
    write_result.__doc__ = f"In-place version of :func:`{operation.__name__}`."
    return write_result  # type: ignore[return-value]


def _before(self: T) -> T:
    """A copy with the same place in the graph, for gradients that read what is overwritten."""
    array = self.array.copy()
    out: T = bare(self.plain, array, Storage(array, self.storage.device))
    out._grad_fn, out._output_nr = self._grad_fn, self._output_nr
    out._requires_grad = self._requires_grad
    return out


def check_writable(self: TensorBase, recorded: bool = False) -> None:
    """Raise where an in-place write would make gradients wrong or ambiguous.

    `recorded` says that what is written requires grad, even if `self` does not yet.
    """
    if not self.array.flags.writeable:
        if 0 not in self.array.strides:
            raise RuntimeError("this tensor shares memory with a read-only numpy array: clone() it before writing")
        raise RuntimeError("more than one element refers to a single memory location: clone() the tensor before")
    mode = grad_mode.current_mode()
    if self._inference and mode != grad_mode.INFERENCE:
        raise RuntimeError("an inference tensor is not written to outside of inference_mode: clone() it before writing")
    if mode != grad_mode.ON:
        return
    base = self._base
    if base is not None and (recorded or self._requires_grad or base._requires_grad):
        if self._view_note:
            raise graph.refusal(self)
        if base._requires_grad and base._grad_fn is None:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if self._requires_grad and self._grad_fn is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def write(self: T, out: TensorBase) -> T:
    """Store the result `out` in `self`, and its history with it."""
    if out.array.shape != self.array.shape:
        raise RuntimeError(f"a result of shape {list(out.array.shape)} does not fit into {list(self.array.shape)}")
    if _category(out.array) > _category(self.array):
        raise RuntimeError(f"a result of {out.dtype} cannot be stored in a tensor of {self.dtype}")
    node = out._grad_fn
    if node is not None and not self._requires_grad:
        check_writable(self, recorded=True)
    self.array[...] = out.array
    storage = self.storage
    storage.version += 1
    if node is not None:
        if node.reads:  # a gradient that reads the result is to notice later writes to it
            node.reads = [
                (storage, storage.version, self.array) if read[0] is out.storage else read for read in node.reads
            ]
        rebase(self, (node, out._output_nr))
    return self


def _category(x: Array) -> int:
    """A number of a higher category cannot be stored in one of a lower."""
    return "biufVc".index(x.dtype.kind.replace("u", "i").replace("V", "f"))


def rebase(self: TensorBase, edge: Edge) -> None:
    """Let the history of `self` continue from `edge`, after a recorded write."""
    base = self._base
    if base is None:
        graph.adopt(self, *edge)
        return
    window = window_of(base.array, self.array)
    before = graph.edge_of(base)
    vjps = (None if before is None else window.blank, window.cut)
    node = KINDS["CopySlices"]("CopySlices", (before, edge), self.storage.device, vjps)
    graph.adopt(base, node, 0)
    self._seen_version = -1  # rebuild from the base at the next look
    graph.refresh(self)


def wrote(self: TensorBase, *reads: Array) -> None:
    """Count a write to the whole of `self.array`; observers are told of it, and of the arrays it has read."""
    bump(self)
    if observers.operations:
        observers.operated("InPlace", reads, (self.array,))


def bump(self: TensorBase) -> None:
    """Count a write that was made directly to `self.array`."""
    self.storage.version += 1
