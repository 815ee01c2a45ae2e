"""`ProcessGroup`: a group with torch's methods on tensors."""

from __future__ import annotations

from typing import ClassVar

from minitorch_dist.distributed import groups, point_to_point, world
from minitorch_dist.distributed.torch_api.tensor_arrays import to_send, to_write
from minitorch_dist.distributed.work import Work
from minitorch_dist.not_offered import tells_what_is_gone
from minitorch_dist.tensors.core.base import TensorBase


@tells_what_is_gone
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

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class _Roles(type):
    """`WORLD` is looked up anew each time: it is this rank's default group, or None."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        here = world.place().world
        return None if here is None else here.default_group


class group(metaclass=_Roles):
    """`group.WORLD` is the default group."""


class GroupMember(metaclass=_Roles):
    """`GroupMember.WORLD`, and what a rank gets of a group that it is not in."""

    NON_GROUP_MEMBER: ClassVar[int] = groups.NON_MEMBER


def or_default(which: ProcessGroup | None) -> ProcessGroup:
    found = groups.resolve(which)
    assert isinstance(found, ProcessGroup)
    return found
