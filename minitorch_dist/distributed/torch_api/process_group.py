"""`ProcessGroup`: a group with torch's methods on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from minitorch_dist.distributed import collectives, groups, point_to_point, world
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.reduce_op import ReduceOp, reduction_of
from minitorch_dist.distributed.torch_api import collective_arguments as arguments
from minitorch_dist.distributed.torch_api.tensor_arrays import to_send, to_write
from minitorch_dist.distributed.work import Work
from minitorch_dist.tensors.core.base import TensorBase


class ProcessGroup(groups.Group):
    """A group of ranks. Ranks in the arguments of its methods are group ranks."""

    def send(self, tensors: list[TensorBase], dst: int, tag: int = 0) -> Work:
        (tensor,) = tensors
        groups.global_rank_of(self, dst)
        array = to_send(tensor)
        return point_to_point.isend(self, array, dst, tag, output=[tensor])

    def recv(self, tensors: list[TensorBase], src: int, tag: int = 0) -> Work:
        groups.global_rank_of(self, src)
        return self._receive(tensors, src, tag)

    def recv_anysource(self, tensors: list[TensorBase], tag: int = 0) -> Work:
        return self._receive(tensors, None, tag)

    def _receive(self, tensors: list[TensorBase], src: int | None, tag: int) -> Work:
        (tensor,) = tensors
        array, written = to_write(tensor)
        return point_to_point.irecv(self, array, src, tag, output=[tensor], arrived=written)

    # ------------- collectives: each returns its Work; `opts` is a reduce op or a root, where one is needed

    def allreduce(self, tensors: Tensors, opts: Any = None) -> Work | None:
        (tensor,) = _listed(tensors)
        array, written = to_write(tensor)
        op = reduction_of(_or(opts, ReduceOp.SUM), array.dtype)
        return collectives.all_reduce(self, array, op, _how([tensor], written))

    def broadcast(self, tensors: Tensors, opts: Any = None) -> Work | None:
        (tensor,) = _listed(tensors)
        root = groups.canonical_rank(self, None, _or(opts, 0))
        array, written = to_write(tensor)
        is_root = self.rank() == root
        how = _how([tensor], None if is_root else written)
        return collectives.broadcast(self, array, root, how)

    def reduce(self, tensors: Tensors, opts: Any = None) -> Work | None:
        (tensor,) = _listed(tensors)
        root = groups.canonical_rank(self, None, _or(opts, 0))
        is_root = self.rank() == root
        array, written = to_write(tensor) if is_root else (to_send(tensor), None)
        op = reduction_of(_or(opts, ReduceOp.SUM), array.dtype)
        return collectives.reduce(self, array, root, op, _how([tensor], written))

    def allgather(
        self, outputs: list[list[TensorBase]], tensors: Tensors, opts: Any = None
    ) -> Work | None:
        (tensor,), (output,) = _listed(tensors), outputs
        arrays, written = arguments.all_to_write(output, "outputs[0]")
        return collectives.all_gather(self, to_send(tensor), arrays, _how(output, written))

    def _allgather_base(
        self, output: TensorBase, tensor: TensorBase, opts: Any = None
    ) -> Work | None:
        arguments.check_pair(output, tensor, self.size(), "output")
        array, written = to_write(output)
        how = _how([output], written)
        return collectives.all_gather_into(self, to_send(tensor), array, how)

    def reduce_scatter(
        self, outputs: Tensors, inputs: list[list[TensorBase]], opts: Any = None
    ) -> Work | None:
        (output,), (parts,) = _listed(outputs), inputs
        array, written = to_write(output)
        op = reduction_of(_or(opts, ReduceOp.SUM), array.dtype)
        how = _how([output], written)
        return collectives.reduce_scatter(self, array, [to_send(p) for p in parts], op, how)

    def _reduce_scatter_base(
        self, output: TensorBase, tensor: TensorBase, opts: Any = None
    ) -> Work | None:
        arguments.check_pair(tensor, output, self.size(), "input")
        array, written = to_write(output)
        op = reduction_of(_or(opts, ReduceOp.SUM), array.dtype)
        how = _how([output], written)
        return collectives.reduce_scatter_from(self, array, to_send(tensor), op, how)

    def alltoall_base(
        self,
        output: TensorBase,
        tensor: TensorBase,
        output_split_sizes: list[int],
        input_split_sizes: list[int],
        opts: Any = None,
    ) -> Work | None:
        array, written = to_write(output)
        given = to_send(tensor, beside=array)
        outputs = arguments.split(array, output_split_sizes, self, "output")
        inputs = arguments.split(given, input_split_sizes, self, "input")
        how = _how([output], written)
        return collectives.all_to_all(self, outputs, inputs, how, "all_to_all_single")

    def barrier(self, opts: Any = None) -> Work | None:
        return collectives.barrier(self, _how([], None))

    all_gather_single = _allgather_base
    reduce_scatter_single = _reduce_scatter_base
    all_to_all_single = alltoall_base

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


Tensors: TypeAlias = "TensorBase | list[TensorBase]"


def _listed(tensors: Tensors) -> list[TensorBase]:
    return [tensors] if isinstance(tensors, TensorBase) else tensors


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given


def _how(output: Any, written: Callable[[], None] | None) -> How:
    return How(None, True, output, written)


class _Roles(type):
    """`WORLD` is looked up anew each time: it is this rank's default group, or None."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        here = world.place().world
        return None if here is None else here.default_group

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        here = world.current()
        here.default_group = group


class group(metaclass=_Roles):
    """`group.WORLD` is the default group."""


class GroupMember(metaclass=_Roles):
    """`GroupMember.WORLD`, and what a rank gets of a group that it is not in."""

    NON_GROUP_MEMBER: ClassVar[int] = groups.NON_MEMBER


def or_default(which: Any) -> ProcessGroup:
    found = groups.resolve(which)
    assert isinstance(found, ProcessGroup)
    return found
