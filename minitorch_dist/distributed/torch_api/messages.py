"""Tensors from one rank to another: torch's send, recv, isend, irecv and their batches.

Ranks are ranks of the world, in any group; `group_dst` and `group_src` are ranks of the
group. Both ranks may send first, and `isend` to oneself meets one's own `irecv`.

`send` and `recv` keep what they prepared (see `prepared`), for the next message of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch_dist.distributed import groups, point_to_point
from minitorch_dist.distributed.exceptions import DistMismatch
from minitorch_dist.distributed.groups import ProcessGroup, joined, resolve
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.overlaps import check_apart, copied_where_shared
from minitorch_dist.distributed.point_to_point import PreparedReceive, PreparedSend
from minitorch_dist.distributed.prepared import repeated
from minitorch_dist.distributed.torch_api import objects
from minitorch_dist.distributed.torch_api.tensor_arrays import check_tensor, is_plain, to_send, to_write
from minitorch_dist.distributed.work import Work
from minitorch_dist.tensors.core.base import TensorBase


def isend(
    tensor: TensorBase,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send, beside the caller, who does not write to the tensor until the Work is done.

    Args:
        tensor: The numbers to send.
        dst: The receiver's rank in the world.
        group: The ranks that take part. None means all ranks.
        tag: A number that a receive must name, too.
        group_dst: The receiver's rank in the group, instead of `dst`.

    Returns:
        A Work; None if this rank is not in the group.

    Example:
        >>> def shift():
        ...     rank, size, got = dist.get_rank(), dist.get_world_size(), torch.empty(1)
        ...     work = dist.isend(torch.tensor([float(rank)]), (rank + 1) % size)
        ...     dist.recv(got, (rank - 1) % size)
        ...     work.wait()
        ...     return got.item()
        >>> sim.run(shift, 3).results
        [2.0, 0.0, 1.0]
    """
    if (which := joined(group, "isend")) is None:
        return None
    to = groups.canonical_rank(which, dst, group_dst)
    check_tensor(tensor, "tensor")
    return point_to_point.isend(which, to_send(tensor), to, tag, output=[tensor])


def irecv(
    tensor: TensorBase,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive into the tensor, which holds the message once the Work is done.

    Args:
        tensor: The place of what comes.
        src: The sender's rank in the world. None takes the first message that is there.
        group: The ranks that take part. None means all ranks.
        tag: The number that the send named.
        group_src: The sender's rank in the group, instead of `src`.

    Returns:
        A Work; None if this rank is not in the group.

    Example:
        >>> def program():
        ...     x = torch.zeros(1)
        ...     if dist.get_rank() == 0:
        ...         work = dist.irecv(x, 1)
        ...         work.wait()
        ...     else:
        ...         dist.send(torch.ones(1), 0)
        ...     return x.item()
        >>> sim.run(program, 2).results
        [1.0, 0.0]
    """
    check_tensor(tensor, "tensor")
    if (which := joined(group, "irecv")) is None:
        return None
    is_any = src is None and group_src is None
    return _begin_receive(which, tensor, None if is_any else groups.canonical_rank(which, src, group_src), tag)


def _begin_receive(which: ProcessGroup, tensor: TensorBase, source: int | None, tag: int) -> Work:
    array, written = to_write(tensor)
    return point_to_point.irecv(which, array, source, tag, output=[tensor], arrived=written)


def send(
    tensor: TensorBase,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to a rank. The tensor may be written to when this returns, though it may not be received yet.

    Args:
        tensor: The numbers to send; they are read now.
        dst: The receiver's rank in the world.
        group: The ranks that take part. None means all ranks.
        tag: A number that a receive must name, too.
        group_dst: The receiver's rank in the group, instead of `dst`.

    Raises:
        PeerLost: A rank that is needed has failed or left.

    Example:
        >>> def program():
        ...     x = torch.tensor([5.0])
        ...     if dist.get_rank() == 0:
        ...         dist.send(x * 2, 1)
        ...     else:
        ...         dist.recv(x, 0)
        ...     return x.item()
        >>> sim.run(program, 2).results
        [5.0, 10.0]
    """
    is_whole = is_plain(tensor)
    if not is_whole:
        check_tensor(tensor, "tensor")
    array = tensor.array if is_whole else to_send(tensor)
    kind = _kind("send", dst, group_dst, tag, array)
    prepared = repeated(group, kind, _prepared_send, array, dst, group_dst, tag)
    if prepared is not None:
        prepared.run(array)


def _prepared_send(which: ProcessGroup, array: Array, dst: Any, group_dst: Any, tag: int) -> PreparedSend:
    to = groups.canonical_rank(which, dst, group_dst)
    _not_oneself(which, to, "destination")
    return PreparedSend(which, Fingerprint("send", array.dtype, array.shape), to, tag)


def recv(
    tensor: TensorBase,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive into the tensor from a rank, or from any.

    Args:
        tensor: The place of what comes; shape and dtype are the sender's.
        src: The sender's rank in the world. None takes the first message that is there.
        group: The ranks that take part. None means all ranks.
        tag: The number that the send named.
        group_src: The sender's rank in the group, instead of `src`.

    Returns:
        The sender's rank in the world.

    Raises:
        DistMismatch: The message has another shape or dtype.
        PeerLost: A rank that is needed has failed or left.
        DistTimeout: A rank did not come within the group's timeout.

    Example:
        >>> def program():
        ...     if dist.get_rank() == 0:
        ...         return dist.recv(torch.empty(2))  # from anybody
        ...     dist.send(torch.ones(2), 0)
        >>> sim.run(program, 2).results
        [1, None]
    """
    if src is not None and is_plain(tensor) and groups.is_member(group):
        array = tensor.array
        kind = _kind("recv", src, group_src, tag, array)
        prepared = repeated(group, kind, _prepared_receive, array, src, group_src, tag)
        assert prepared is not None
        prepared.run(array)
        tensor.storage.version += 1
        return src
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    which = groups.resolve(group)
    if src is None and group_src is None:
        group_src = work.source_rank()
        _not_oneself(which, group_src, "source")
    return src if src is not None else groups.global_rank_of(which, group_src or 0)


def _prepared_receive(which: ProcessGroup, array: Array, src: Any, group_src: Any, tag: int) -> PreparedReceive:
    source = groups.canonical_rank(which, src, group_src)
    return PreparedReceive(which, Fingerprint("send", array.dtype, array.shape), source, tag)


def _kind(name: str, peer: Any, group_peer: Any, tag: Any, array: Array) -> tuple[Any, ...]:
    """The values that messages of one kind share. Types belong to them: 1.0 equals 1, and is no rank."""
    types = type(peer), type(group_peer), type(tag)
    return name, types, peer, group_peer, tag, array.dtype, array.shape


def _not_oneself(group: ProcessGroup, rank: int, kind: str) -> None:
    if group.ranks[rank] == group.world.rank:
        raise ValueError(f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process.")


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send a list of objects, all in one message (how they travel: see `objects`).

    Args:
        object_list: The objects.
        dst: The receiver's rank in the world.
        group: The ranks that take part. None means all ranks.
        device: Accepted as in torch; it changes nothing.
        group_dst: The receiver's rank in the group, instead of `dst`.
        use_batch: Accepted as in torch; it changes nothing.

    Example:
        >>> def program():
        ...     objects = ["hello", 3] if dist.get_rank() == 0 else [None, None]
        ...     if dist.get_rank() == 0:
        ...         dist.send_object_list(objects, 1)
        ...     else:
        ...         dist.recv_object_list(objects, 0)
        ...     return objects
        >>> sim.run(program, 2).results[1]
        ['hello', 3]
    """
    if (which := joined(group, "send_object_list")) is None:
        return
    to = groups.canonical_rank(which, dst, group_dst)
    _not_oneself(which, to, "destination")
    objects.check_list(object_list, "object_list")
    point_to_point.send(which, objects.to_array(object_list), to, 0, "send_object_list")


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Replace the objects in the list by those that a rank, or any, has sent.

    Args:
        object_list: A list as long as the sender's.
        src: The sender's rank in the world. None takes the first message that is there.
        group: The ranks that take part. None means all ranks.
        device: Accepted as in torch; it changes nothing.
        group_src: The sender's rank in the group, instead of `src`.
        use_batch: Accepted as in torch; it changes nothing.

    Returns:
        The sender's rank in the world.

    Example:
        >>> def program():
        ...     if dist.get_rank() == 1:
        ...         return dist.recv_object_list([None])
        ...     dist.send_object_list([{"step": 1}], 1)
        >>> sim.run(program, 2).results
        [None, 0]
    """
    if (which := joined(group, "recv_object_list")) is None:
        return -1
    source = None
    if src is not None or group_src is not None:
        source = groups.canonical_rank(which, src, group_src)
        _not_oneself(which, source, "source")
    objects.check_list(object_list, "object_list")
    sender, octets = point_to_point.recv(which, None, source, 0, "send_object_list")
    found = objects.from_bytes(octets)
    if len(found) != len(object_list):
        raise DistMismatch(
            f"rank {which.ranks[sender]} sent a list of {len(found)} objects, but recv_object_list "
            f"got a list of {len(object_list)} to fill"
        )
    object_list[:] = found
    return which.ranks[sender]


class P2POp:
    """One send or receive of a batch: `P2POp(isend, tensor, peer)`.

    Args:
        op: `isend` or `irecv`.
        tensor: The numbers to send, or the place of what comes.
        peer: The other rank, as it is numbered in the world.
        group: The ranks that take part. None means all ranks.
        tag: A number that both sides name.
        group_peer: The other rank in the group, instead of `peer`.

    Example:
        >>> def program():
        ...     return dist.P2POp(dist.isend, torch.ones(2), 1).peer
        >>> sim.run(program, 2).results
        [1, 1]
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: TensorBase,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = resolve(group)
        self.group_peer = groups.canonical_rank(self.group, peer, group_peer)
        self.peer = self.group.ranks[self.group_peer]


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin all of these; sends and receives may stand in any order.

    Args:
        p2p_op_list: The operations, each a `P2POp`.

    Returns:
        One Work for each operation.

    Raises:
        IndexError: The list is empty, as in torch.

    Example:
        >>> def exchange():
        ...     other, got = 1 - dist.get_rank(), torch.empty(1)
        ...     mine = torch.tensor([float(dist.get_rank())])
        ...     operations = [dist.P2POp(dist.irecv, got, other), dist.P2POp(dist.isend, mine, other)]
        ...     for work in dist.batch_isend_irecv(operations):
        ...         work.wait()
        ...     return got.item()
        >>> sim.run(exchange, 2).results
        [1.0, 0.0]
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if not p2p_op_list:
        raise IndexError("``p2p_op_list`` is empty: there is no operation to begin")
    if any(op.group is not p2p_op_list[0].group for op in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    numbered = [*enumerate(p2p_op_list)]
    receives = [(number, op) for number, op in numbered if op.op is irecv]
    sends = [(number, op) for number, op in numbered if op.op is isend]
    written = [op.tensor.array for _, op in receives]
    if len({(op.group_peer, op.tag) for _, op in receives}) > 1:  # messages of one rank come in their order
        check_apart(written, lambda at: f"the tensor of p2p_op_list[{receives[at][0]}]")
    arrays = copied_where_shared([to_send(op.tensor) for _, op in sends], written)
    works: dict[int, Work] = {}
    for number, op in receives:  # first, so that messages find their receives posted
        works[number] = _begin_receive(op.group, op.tensor, op.group_peer, op.tag)
    for (number, op), array in zip(sends, arrays, strict=True):
        works[number] = point_to_point.isend(op.group, array, op.group_peer, op.tag, output=[op.tensor])
    return [works[number] for number, _ in numbered]
