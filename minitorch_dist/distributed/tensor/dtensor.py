"""`DTensor`: a tensor that lies on several ranks, of which each knows its part and the whole's shape.

    whole = distribute_tensor(weight, mesh, [Shard(0)])     # rank 0's values count
    whole.shape, whole.to_local().shape                     # (8, 4), (2, 4)
    whole.redistribute(placements=[Replicate()])            # the collectives that it takes
    whole.full_tensor()

A DTensor is how parameters and states are kept. It can be filled and written to (`methods`). Other operations would
compute with this rank's part alone, and are refused (`part`); `tensor.parallel` and FSDP show their modules ordinary
tensors while they compute. Moving between placements is recorded: gradients move back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.tensor.part import TensorPart, here
from minitorch_dist.distributed.tensor.placements import (
    Partial,
    Placement,
    Replicate,
    Shard,
    cut,
    in_order,
    local_ranges,
)
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors import devices, size as sizes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.ops.elementwise import copying
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.ops.shapes.strides import contiguous_strides
from minitorch_dist.tensors.tensor import Tensor


class DTensor(TensorPart):
    """A tensor that is cut or copied over a mesh. This rank's part is in `array`; shape and size speak of the whole.

    Args:
        *args: Not for programs, which call `DTensor.from_local` or `distribute_tensor`.
        **options: The same.

    Example:
        >>> from minitorch_dist.distributed.tensor import DTensor, Shard
        >>> def program():
        ...     mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
        ...     whole = DTensor.from_local(torch.ones(2) * dist.get_rank(), mesh, [Shard(0)])
        ...     return tuple(whole.shape), whole.full_tensor().tolist()
        >>> sim.run(program, 2).results[0]
        ((4,), [0.0, 0.0, 1.0, 1.0])
    """

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return sizes.Size(self._whole)

    @property
    def ndim(self) -> int:  # type: ignore[override]
        return len(self._whole)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self._whole[dim]

    def __len__(self) -> int:
        if not self._whole:
            raise TypeError("len() of a 0-d tensor")
        return self._whole[0]

    def dim(self) -> int:
        return len(self._whole)

    def numel(self) -> int:
        return int(np.prod(self._whole, dtype=np.int64))

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Of the whole, whose axes follow each other in memory as those of the part do."""
        part = self._local_array().strides
        order = sorted(range(self.ndim), key=lambda axis: part[axis], reverse=True)
        steps, step = [0] * self.ndim, 1
        for axis in reversed(order):
            steps[axis], step = step, step * max(self._whole[axis], 1)
        return tuple(steps) if dim is None else steps[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return bool(self.stride() == contiguous_strides(self._whole))

    @property
    def nbytes(self) -> int:
        return self.numel() * self.array.itemsize

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This rank's part, sharing its memory. Gradients pass."""
        if not self.is_recorded():
            return base.bare(Tensor, self._local_array(), self.storage)
        out = record(self.array, "ToTorchTensorBackward0", (here(self), _itself))
        out.storage = self.storage
        return out

    def _local_array(self) -> Array:
        return self.array

    def companion(self, array: Array) -> Any:
        """A DTensor that lies as this one does."""
        if array.shape != self._local_array().shape:
            return super().companion(array)
        return self.alike(array)

    def alike(self, array: Array, storage: base.Storage | None = None, cls: Any = None) -> Any:
        """A tensor of another part that lies as this one does: on memory that has a `storage`, or on this one's device."""
        lying = self.device_mesh, self.placements, self._whole
        return made(cls or DTensor, array, *lying, storage, self.device)

    def lying_alike(self, part: Tensor) -> Any:
        """A new part of the same shape as a DTensor. It has no summands: each rank has it all."""
        out = made(DTensor, part.array, self.device_mesh, of_gradient(self.placements), self._whole, part.storage)
        out.requires_grad = part.requires_grad
        return out

    def as_parameter(self, requires_grad: bool) -> Any:
        """A parameter on the same memory, distributed as this is."""
        out = self.alike(self._local_array(), self.storage, DParameter)
        out.requires_grad = requires_grad
        return out

    def part_of(self, value: Tensor) -> Array:
        """This rank's part of `value`, which is a whole or another DTensor, as it would lie here."""
        if isinstance(value, DTensor):
            if value.placements != self.placements:
                value = value.redistribute(placements=self.placements)
            return value._local_array()
        mesh = self.device_mesh
        return moved(value.array, self._whole, mesh, (Replicate(),) * mesh.ndim, self.placements)

    def adopt(self, value: Tensor) -> None:
        """Become this rank's part of `value`: what `load_state_dict(assign=True)` means. This tensor stays the same
        object, so optimizers and units of FSDP know it still."""
        part = self.part_of(value)
        self.array, self.storage = part, base.new(Tensor, part, value.device).storage

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "cannot pickle a DTensor, which belongs to the groups of its mesh: pickle to_local() or full_tensor(), or "
            "save it with distributed.checkpoint"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A leaf on memory of its own, on the same mesh."""
        if id(self) not in memo:
            if self._grad_fn is not None:
                raise RuntimeError(
                    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                    "moment. detach() the tensor first."
                )
            cls = DParameter if isinstance(self, Parameter) else DTensor
            out = self.alike(row_major(self._local_array()).copy(), cls=cls)
            out.requires_grad = self.requires_grad
            if self._grad is not None:
                out._grad = self._grad.__deepcopy__(memo)
            memo[id(self)] = out
        return memo[id(self)]

    @property
    def grad(self) -> Any:
        """The gradient, distributed as this is."""
        grad = self._grad
        if grad is None or isinstance(grad, DTensor):
            return grad
        if grad.array.shape != self._local_array().shape:
            return grad  # whole, or collected in no_sync: an ordinary tensor
        return self.alike(grad.array, grad.storage)

    @grad.setter
    def grad(self, value: Any) -> None:
        Tensor.grad.fset(self, value)  # type: ignore[union-attr]

    def detach(self) -> Any:
        return self.alike(self._local_array(), self.storage)

    @property
    def data(self) -> Any:
        """The same memory outside of the graph, distributed as this is."""
        return self.alike(self._local_array(), self.storage.alias())

    @data.setter
    def data(self, value: Tensor) -> None:
        copying.set_data(self, value)

    def clone(self, **_: Any) -> Any:
        return self.alike(self._local_array().copy())

    def to(self, *args: Any, **options: Any) -> Any:
        """In another type, or on another device: each rank its part."""
        own = here(self)
        there = own.to(*args, **options)
        return self if there is own else placed(there, self.device_mesh, self.placements, self._whole)

    def cpu(self, memory_format: Any = None) -> Any:
        return self.to("cpu")

    def norm_across(self, own: Array, order: float) -> Array:
        """The norm of the whole, from this rank's part of it. Collective."""
        is_largest = np.isinf(order)
        power = np.asarray(own if is_largest else own**order, np.float64)
        op = ReduceOp.MAX if is_largest else ReduceOp.SUM
        for axis, placement in enumerate(self.placements):
            if placement.is_shard():
                group = self.device_mesh.get_group(axis)
                tensor_collectives.all_reduce(base.new(Tensor, power), op, group)
        return (power if is_largest else power ** (1 / order)).astype(own.dtype)

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole, on every rank. Collective."""
        return self.redistribute(placements=[Replicate()] * self.device_mesh.ndim).to_local()

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
    ) -> DTensor:
        """The same tensor, lying in another way on the same mesh. Collective, and so is its backward."""
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("redistribute to another mesh: take full_tensor() in between")
        wanted = checked(placements, self.device_mesh)
        whole, mesh, before = self._whole, self.device_mesh, self.placements
        array = moved(self._local_array(), whole, mesh, before, wanted)
        back = of_gradient(wanted), of_gradient(before)
        vjp = here(self), lambda g: moved(row_major(g), whole, mesh, *back)
        return placed(record(array, "RedistributeBackward0", vjp), mesh, wanted, whole)

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Any = None,
    ) -> DTensor:
        """Every rank's part put under one name. Where parts differ in size, `shape` must be given."""
        chosen = checked(placements, device_mesh)
        whole = list(local_tensor.array.shape if shape is None else shape)
        for size, placement in zip(device_mesh.shape, chosen, strict=True):
            if shape is None and isinstance(placement, Shard):
                whole[placement.dim] *= size
        out = record(local_tensor.array, "FromTorchTensorBackward0", (local_tensor, _itself))
        out.storage = local_tensor.storage
        return placed(out, device_mesh, chosen, whole)

    def __repr__(self, **options: Any) -> str:
        return f"DTensor(local_tensor={self.to_local()!r}, device_mesh={self.device_mesh!r}, placements={self.placements!r})"


class DParameter(DTensor, Parameter):
    """A parameter of which each rank keeps a part."""

    def __repr__(self, **options: Any) -> str:
        return "Parameter containing:\n" + DTensor.__repr__(self)


def made(
    cls: Any,
    array: Array,
    mesh: DeviceMesh,
    placements: Sequence[Placement],
    whole: tuple[int, ...],
    storage: base.Storage | None = None,
    device: devices.device = devices.CPU,
) -> Any:
    """A tensor of this rank's part: on memory that has a `storage` already, or on `device`."""
    out = base.new(cls, array, device if storage is None else devices.CPU)
    if storage is not None:
        out.storage = storage
    out._lying = mesh, tuple(placements), tuple(whole)
    return out


def placed(local: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], whole: Sequence[int]) -> DTensor:
    """A computed part as a DTensor, at the same place in the graph."""
    out: DTensor = made(DTensor, local.array, mesh, placements, tuple(whole), local.storage)
    out._grad_fn, out._output_nr = local._grad_fn, local._output_nr
    out._requires_grad = local._requires_grad
    return out


def of_gradient(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """How the gradient lies: as the tensor, and whole where that lies in summands."""
    return tuple(Replicate() if p.is_partial() else p for p in placements)


def _itself(grad: Array) -> Array:
    return grad


def checked(placements: Sequence[Placement] | None, mesh: DeviceMesh) -> tuple[Placement, ...]:
    chosen = tuple(placements) if placements is not None else (Replicate(),) * mesh.ndim
    if len(chosen) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(chosen)}, and device_mesh.ndim: {mesh.ndim}."
        )
    return chosen


# --------------------------------------------------------------------------------- between placements


def moved(
    array: Array, whole: tuple[int, ...], mesh: DeviceMesh, before: Sequence[Placement], after: Sequence[Placement]
) -> Array:
    """Undo cuts and sums from the last to the first, as far as they differ; then cut anew."""
    now, wanted = ([(axis, p[axis]) for axis in in_order(tuple(p))] for p in (before, after))
    pairs = enumerate(zip(now, wanted, strict=True))
    same = next((n for n, (a, b) in pairs if a != b), mesh.ndim)
    at = mesh.get_coordinate()
    assert at is not None
    for n in reversed(range(same, mesh.ndim)):
        axis, placement = now[n]
        if isinstance(placement, Shard):
            earlier = dict(now[:n])
            cuts = tuple(earlier.get(k, Replicate()) for k in range(mesh.ndim))
            ranges = local_ranges(whole, mesh.shape, at, cuts)
            length = ranges[placement.dim].stop - ranges[placement.dim].start
            array = joined(array, placement.dim, length, mesh.get_group(axis))
        elif isinstance(placement, Partial):
            array = summed(array, mesh.get_group(axis))
    for axis, placement in wanted[same:]:
        if isinstance(placement, Shard):
            array = part(array, placement.dim, mesh.shape[axis], at[axis])
        elif isinstance(placement, Partial) and at[axis] != 0:
            array = np.zeros_like(array)
    return row_major(array)


def part(array: Array, dim: int, pieces: int, number: int) -> Array:
    """The `number`-th of the `pieces` into which a dimension is cut."""
    start, stop = cut(array.shape[dim], pieces, number)
    return np.moveaxis(np.moveaxis(array, dim, 0)[start:stop], 0, dim)


def joined(array: Array, dim: int, length: int, group: ProcessGroup) -> Array:
    """Everybody's part along `dim`, in the order of ranks. Parts are padded to one size on their way."""
    count = group.size()
    if count == 1:
        return array
    rows = np.moveaxis(array, dim, 0)
    size = -(-length // count)
    sent = np.zeros((size, *rows.shape[1:]), array.dtype, like=array)
    sent[: len(rows)] = rows
    got = np.empty((count * size, *rows.shape[1:]), array.dtype, like=array)
    tensor_collectives.all_gather_into_tensor(base.new(Tensor, got), base.new(Tensor, sent), group)
    return row_major(np.moveaxis(got[:length], 0, dim))


def summed(array: Array, group: ProcessGroup) -> Array:
    out = array.copy(order="C")
    tensor_collectives.all_reduce(base.new(Tensor, out), group=group)
    return out


# ---------------------------------------------------------------------------------- torch's functions


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Cut or copy a whole tensor over a mesh.

    Args:
        tensor: The whole.
        device_mesh: The ranks.
        placements: One for each axis of the mesh; copies by default.
        src_data_rank: The rank, first on each axis, whose values count. None takes every rank's own.

    Returns:
        The DTensor.

    Example:
        >>> from minitorch_dist.distributed.tensor import Shard, distribute_tensor
        >>> def program():
        ...     mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
        ...     return distribute_tensor(torch.arange(4), mesh, [Shard(0)]).to_local().tolist()
        >>> sim.run(program, 2).results
        [[0, 1], [2, 3]]
    """
    chosen = checked(placements, device_mesh)
    array = tensor.array.copy(order="C")
    if src_data_rank is not None:
        for axis in range(device_mesh.ndim):
            if device_mesh.shape[axis] > 1:
                tensor_collectives.broadcast(
                    base.new(Tensor, array), group=device_mesh.get_group(axis), group_src=src_data_rank
                )
    local = moved(array, array.shape, device_mesh, (Replicate(),) * device_mesh.ndim, chosen)
    cls = DParameter if isinstance(tensor, Parameter) else DTensor
    device = device_mesh.device_for(tensor.device)
    out = made(cls, local, device_mesh, chosen, array.shape, device=device)
    if tensor.requires_grad:
        out.requires_grad = True
    return out  # type: ignore[no-any-return]
