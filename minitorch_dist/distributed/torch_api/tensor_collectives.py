"""The collectives on tensors: torch's functions, over those of `collectives` on arrays.

Each checks its arguments as torch does, makes arrays of the tensors, and lets the group carry the
operation out. With `async_op=True` the operation runs beside the caller, which gets a Work. `algorithm`
names a schedule; without it the cheapest is taken. Roots are ranks of the world (`src`, `dst`) or of the
group (`group_src`, `group_dst`).

A plain call is one of tensors that are sent from, and written to, where they are. It is checked and prepared once
for each kind of call, and the like of it is then only run (`prepared.repeated`). All other calls go the long way.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeAlias

from numpy import may_share_memory

from minitorch_dist.distributed import bootstrap, collectives
from minitorch_dist.distributed.collectives import flat
from minitorch_dist.distributed.groups import ProcessGroup, joined
from minitorch_dist.distributed.mail.receives import Array, PostponedCopy
from minitorch_dist.distributed.overlaps import copied_where_shared
from minitorch_dist.distributed.prepared import Algorithm, How, PreparedCall, repeated
from minitorch_dist.distributed.reduce_op import RedOpType, ReduceOp, reduction_of
from minitorch_dist.distributed.torch_api.collective_arguments import (
    all_to_write,
    check_length,
    check_own,
    check_pair,
    check_same_dtype,
    check_shapes,
    parts_at_root,
    root_of,
    split,
)
from minitorch_dist.distributed.torch_api.tensor_arrays import check_tensor, check_tensors, is_plain, to_send, to_write
from minitorch_dist.distributed.work import Work
from minitorch_dist.tensors.core.base import TensorBase

Op: TypeAlias = ReduceOp | RedOpType
SUM = ReduceOp.SUM
_AVG, _PREMUL = RedOpType.AVG, RedOpType.PREMUL_SUM


def _sums(op: Any) -> bool:
    """Whether an op has nothing to do before or after."""
    return type(op) is RedOpType and op is not _AVG and op is not _PREMUL


def broadcast(
    tensor: TensorBase,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """The root's tensor to all ranks.

    Args:
        tensor: On the root the numbers, elsewhere their place.
        src: The root's rank in the world.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        group_src: The root's rank in the group, instead of `src`.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.
        PeerLost: A rank that is needed has failed or left.

    Example:
        >>> def program():
        ...     x = torch.tensor([float(dist.get_rank())])
        ...     dist.broadcast(x, 2)
        ...     return x.item()
        >>> sim.run(program, 3).results
        [2.0, 2.0, 2.0]
    """
    is_whole = is_plain(tensor)
    if not is_whole:
        check_tensor(tensor, "tensor")
    array, written = tensor.array, None
    kind = "broadcast", algorithm, src, group_src, array.dtype, array.shape
    prepared = repeated(group, kind, _prepared_broadcast, array, src, group_src, algorithm)
    if prepared is None:
        return None
    is_root = prepared.rank == prepared.root
    if is_whole and not async_op:
        prepared.run({"work": flat(array)})
        tensor.storage.version += not is_root
        return None
    if is_root:
        array = to_send(tensor)
    else:
        array, written = to_write(tensor)
    return prepared.run({"work": flat(array)}, how=How(algorithm, async_op, [tensor], written))


def _prepared_broadcast(
    which: ProcessGroup, array: Array, src: Any, group_src: Any, algorithm: Algorithm
) -> PreparedCall:
    return collectives.prepare_broadcast(which, array, root_of(which, src, group_src), algorithm)


def all_reduce(
    tensor: TensorBase,
    op: Op = SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """All tensors reduced to one, which every rank then holds, equal bit for bit.

    Args:
        tensor: The numbers of this rank, replaced by the result.
        op: How they are combined: `ReduceOp.SUM`, `AVG`, `MAX`, `MIN`, `PRODUCT` and others.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.
        PeerLost: A rank that is needed has failed or left.
        DistTimeout: A rank did not come within the group's timeout.

    Example:
        >>> def total():
        ...     x = torch.tensor([dist.get_rank() + 1.0])
        ...     dist.all_reduce(x)
        ...     return x.item()
        >>> sim.run(total, 3).results
        [6.0, 6.0, 6.0]
    """
    if algorithm is None and not async_op and is_plain(tensor) and _sums(op):
        array = tensor.array
        kind = "all_reduce", id(op), array.dtype, array.shape
        prepared = repeated(group, kind, _prepared_all_reduce, array, op)
        if prepared is None:
            return None
        prepared.run({"work": flat(array)})
        tensor.storage.version += 1
        return None
    return _all_reduce(tensor, op, group, async_op, algorithm)


def _prepared_all_reduce(which: ProcessGroup, array: Array, op: Op) -> PreparedCall:
    return collectives.prepare_all_reduce(which, array, reduction_of(op, array.dtype))


def _all_reduce(tensor: TensorBase, op: Op, group: Any, async_op: bool, algorithm: Algorithm) -> Work | None:
    check_tensor(tensor, "tensor")
    if (which := joined(group, "all_reduce", 2)) is None:
        return None
    reduction = reduction_of(op, tensor.array.dtype)
    array, written = to_write(tensor)
    how = How(algorithm, async_op, [tensor], written)
    return collectives.all_reduce(which, array, reduction, how)


def reduce(
    tensor: TensorBase,
    dst: int | None = None,
    op: Op = SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """All tensors reduced to one, which the root then holds. The others stay as they are.

    Args:
        tensor: The numbers of this rank; on the root replaced by the result.
        dst: The root's rank in the world.
        op: How they are combined.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        group_dst: The root's rank in the group, instead of `dst`.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     x = torch.tensor([1.0])
        ...     dist.reduce(x, 0)
        ...     return x.item()
        >>> sim.run(program, 3).results
        [3.0, 1.0, 1.0]
    """
    if (which := joined(group, "reduce")) is None:
        return None
    root = root_of(which, dst, group_dst)
    check_tensor(tensor, "tensor")
    reduction = reduction_of(op, tensor.array.dtype, "reduce")
    array, written = to_write(tensor) if which.rank() == root else (to_send(tensor), None)
    how = How(algorithm, async_op, [tensor], written)
    return collectives.reduce(which, array, root, reduction, how)


def all_gather(
    tensor_list: Sequence[TensorBase],
    tensor: TensorBase,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """Everybody's tensor to everybody; `tensor_list[r]` is that of rank r. They may differ in size.

    Args:
        tensor_list: The places, one for each rank.
        tensor: The numbers of this rank.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     parts = [torch.empty(1) for _ in range(2)]
        ...     dist.all_gather(parts, torch.tensor([float(dist.get_rank())]))
        ...     return [part.item() for part in parts]
        >>> sim.run(program, 2).results
        [[0.0, 1.0], [0.0, 1.0]]
    """
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_same_dtype(*tensor_list, tensor)
    if (which := joined(group, "all_gather")) is None:
        return None
    check_length("output tensor", tensor_list, which)
    check_shapes("tensor_list", tensor_list[which.rank() :][:1], tensor)
    outputs, written = all_to_write(tensor_list, "tensor_list")
    how = How(algorithm, async_op, tensor_list, written)
    return collectives.all_gather(which, to_send(tensor), outputs, how)


def all_gather_single(
    output_tensor: TensorBase,
    input_tensor: TensorBase,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """Everybody's tensor in one, one after the other or stacked.

    Args:
        output_tensor: The place of all parts; its first dimension is P times the input's, or P.
        input_tensor: The numbers of this rank.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     whole = torch.empty(4)
        ...     dist.all_gather_into_tensor(whole, torch.ones(2) * dist.get_rank())
        ...     return whole.tolist()
        >>> sim.run(program, 2).results[0]
        [0.0, 0.0, 1.0, 1.0]
    """
    output, input = output_tensor, input_tensor
    is_whole = is_plain(output) and is_plain(input)
    if not is_whole:
        check_tensor(input, "input_tensor")
        check_tensor(output, "output_tensor")
    array, given = output.array, input.array
    kind = _all_gather_kind(array, given, algorithm)
    prepared = repeated(group, kind, _prepared_all_gather, output, input, algorithm)
    if prepared is None:
        return None
    if is_whole and not async_op:
        collectives.run_all_gather_into(prepared, given, array)
        output.storage.version += 1
        return None
    array, written = to_write(output)
    how = How(algorithm, async_op, [output], written)
    return collectives.run_all_gather_into(prepared, to_send(input), array, how)


def _prepared_all_gather(
    which: ProcessGroup, output: TensorBase, input: TensorBase, algorithm: Algorithm
) -> PreparedCall:
    check_pair(output, input, which.size(), "output")
    return collectives.prepare_all_gather_into(which, input.array, output.array, algorithm)


def _all_gather_kind(array: Array, given: Array, algorithm: Algorithm = None) -> Any:
    return "all_gather_single", algorithm, given.dtype, given.shape, array.dtype, array.shape


def prepare_all_gather(array: Array, given: Array, which: ProcessGroup) -> None:
    """Prepare calls of `all_gather_single` on tensors that are like these arrays."""
    prepared = collectives.prepare_all_gather_into(which, given, array)
    which.keep(_all_gather_kind(array, given), prepared)


def gather(
    tensor: TensorBase,
    gather_list: Sequence[TensorBase] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """Everybody's tensor to the root's `gather_list`.

    Args:
        tensor: The numbers of this rank.
        gather_list: On the root the places, one for each rank; elsewhere None.
        dst: The root's rank in the world, 0 by default.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        group_dst: The root's rank in the group, instead of `dst`.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     parts = [torch.empty(1) for _ in range(2)] if dist.get_rank() == 0 else None
        ...     dist.gather(torch.tensor([float(dist.get_rank())]), parts, dst=0)
        ...     return parts and [part.item() for part in parts]
        >>> sim.run(program, 2).results
        [[0.0, 1.0], None]
    """
    check_tensor(tensor, "tensor")
    if gather_list:
        check_tensors(gather_list, "gather_list")
    check_same_dtype(tensor, *(gather_list or ()))
    if (which := joined(group, "gather")) is None:
        return None
    root = root_of(which, dst, group_dst, 0)
    parts = parts_at_root("gather_list", tensor, gather_list, which, root)
    outputs, written = all_to_write(parts, "gather_list")
    how = How(algorithm, async_op, list(parts), written)
    return collectives.gather(which, to_send(tensor), outputs or None, root, how)


def scatter(
    tensor: TensorBase,
    scatter_list: Sequence[TensorBase] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """The root's `scatter_list[r]` to rank r.

    Args:
        tensor: The place of this rank's part.
        scatter_list: On the root the parts, one for each rank; elsewhere None.
        src: The root's rank in the world, 0 by default.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        group_src: The root's rank in the group, instead of `src`.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     mine = torch.empty(1)
        ...     parts = [torch.tensor([10.0]), torch.tensor([20.0])] if dist.get_rank() == 0 else None
        ...     dist.scatter(mine, parts, src=0)
        ...     return mine.item()
        >>> sim.run(program, 2).results
        [10.0, 20.0]
    """
    check_tensor(tensor, "tensor")
    if scatter_list:
        check_tensors(scatter_list, "scatter_list")
    check_same_dtype(tensor, *(scatter_list or ()))
    if (which := joined(group, "scatter")) is None:
        return None
    root = root_of(which, src, group_src, 0)
    parts = parts_at_root("scatter_list", tensor, scatter_list, which, root)
    array, written = to_write(tensor)
    inputs = [to_send(part, beside=array) for part in parts] or None
    how = How(algorithm, async_op, [tensor], written)
    return collectives.scatter(which, array, inputs, root, how)


def reduce_scatter(
    output: TensorBase,
    input_list: Sequence[TensorBase],
    op: Op = SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """`input_list[r]` of all ranks reduced to one, for rank r.

    Args:
        output: The place of this rank's result.
        input_list: The numbers of this rank, one tensor for each rank.
        op: How they are combined.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     mine = torch.empty(1)
        ...     dist.reduce_scatter(mine, [torch.tensor([1.0]), torch.tensor([10.0])])
        ...     return mine.item()
        >>> sim.run(program, 2).results
        [2.0, 20.0]
    """
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    check_same_dtype(output, *input_list)
    if (which := joined(group, "reduce_scatter")) is None:
        return None
    check_length("input tensor", input_list, which)
    reduction = reduction_of(op, output.array.dtype, "reduce_scatter")
    inputs = [to_send(part) for part in input_list]
    own = inputs[which.rank()].size
    if own != output.array.size:
        raise ValueError(f"this rank's part of input_list has {own} elements, but the output has {output.array.size}")
    array, written = to_write(output)
    how = How(algorithm, async_op, [output], written)
    return collectives.reduce_scatter(which, array, inputs, reduction, how)


def reduce_scatter_single(
    output: TensorBase,
    input: TensorBase,
    op: Op = SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """The r-th part of all inputs reduced to one, for rank r.

    Args:
        output: The place of this rank's result.
        input: The numbers of this rank: P parts, one after the other or stacked.
        op: How they are combined.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     mine = torch.empty(1)
        ...     dist.reduce_scatter_tensor(mine, torch.tensor([1.0, 10.0]))
        ...     return mine.item()
        >>> sim.run(program, 2).results
        [2.0, 20.0]
    """
    if algorithm is None and not async_op and _are_apart(output, input) and _sums(op):
        array, given = output.array, input.array
        kind = "reduce_scatter", id(op), given.dtype, given.shape, array.dtype, array.shape
        prepared = repeated(group, kind, _prepared_reduce_scatter, output, input, op)
        if prepared is None:
            return None
        source, work = flat(given), flat(array)
        own = PostponedCopy(work, source) if prepared.size == 1 else None
        prepared.run({"source": source, "work": work}, own)
        output.storage.version += 1
        return None
    check_tensor(output, "output")
    check_tensor(input, "input")
    if (which := joined(group, "reduce_scatter_single")) is None:
        return None
    check_pair(input, output, which.size(), "input")
    reduction = reduction_of(op, output.array.dtype, "reduce_scatter")
    array, written = to_write(output)
    how = How(algorithm, async_op, [output], written)
    return collectives.reduce_scatter_from(which, array, to_send(input), reduction, how)


def _prepared_reduce_scatter(which: ProcessGroup, output: TensorBase, input: TensorBase, op: Op) -> PreparedCall:
    check_pair(input, output, which.size(), "input")
    reduction = reduction_of(op, output.array.dtype, "reduce_scatter")
    return collectives.prepare_reduce_scatter_from(which, output.array, reduction)


def _are_apart(output: TensorBase, input: TensorBase) -> bool:
    return is_plain(output) and is_plain(input) and not may_share_memory(input.array, output.array)


def all_to_all(
    output_tensor_list: Sequence[TensorBase],
    input_tensor_list: Sequence[TensorBase],
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """`input_tensor_list[r]` to rank r, whose place in `output_tensor_list` is the sender's rank.

    Args:
        output_tensor_list: The places, one for each sender.
        input_tensor_list: The numbers of this rank, one tensor for each receiver.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     rank, got = dist.get_rank(), [torch.empty(1), torch.empty(1)]
        ...     dist.all_to_all(got, [torch.tensor([10.0 * rank]), torch.tensor([10.0 * rank + 1])])
        ...     return [x.item() for x in got]
        >>> sim.run(program, 2).results
        [[0.0, 10.0], [1.0, 11.0]]
    """
    if (which := joined(group, "all_to_all")) is None:
        return None
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    check_same_dtype(*output_tensor_list, *input_tensor_list)
    check_length("output tensor", output_tensor_list, which)
    check_length("input tensor", input_tensor_list, which)
    outputs, written = all_to_write(output_tensor_list, "output_tensor_list")
    inputs = copied_where_shared([to_send(tensor) for tensor in input_tensor_list], outputs)
    check_own(inputs, outputs, which.rank())
    how = How(algorithm, async_op, output_tensor_list, written)
    return collectives.all_to_all(which, outputs, inputs, how)


def all_to_all_single(
    output: TensorBase,
    input: TensorBase,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """Send the r-th part (by rows) of the input to rank r. The output has the parts in the order of the senders.

    Args:
        output: The place of all parts.
        input: The numbers of this rank.
        output_split_sizes: Rows that come from each rank; None means equal parts.
        input_split_sizes: Rows that go to each rank; None means equal parts.
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.

    Example:
        >>> def program():
        ...     got = torch.empty(2)
        ...     dist.all_to_all_single(got, torch.tensor([0.0, 1.0]) + 10 * dist.get_rank())
        ...     return got.tolist()
        >>> sim.run(program, 2).results
        [[0.0, 10.0], [1.0, 11.0]]
    """
    is_even = not output_split_sizes and not input_split_sizes
    if algorithm is None and not async_op and is_even and _are_apart(output, input):
        array, given = output.array, input.array
        kind = "all_to_all", given.dtype, given.shape, array.dtype, array.shape
        prepared = repeated(group, kind, _prepared_all_to_all, output, input)
        if prepared is None:
            return None
        collectives.run_all_to_all_of_one(prepared, array, given)
        output.storage.version += 1
        return None
    if (which := joined(group, "all_to_all_single")) is None:
        return None
    check_tensor(output, "output")
    check_tensor(input, "input")
    array, written = to_write(output)
    given = to_send(input, beside=array)
    check_same_dtype(output, input)
    parts = _cut(which, array, given, output_split_sizes, input_split_sizes)
    how = How(algorithm, async_op, [output], written)
    return collectives.all_to_all(which, *parts, how, "all_to_all_single")


def _prepared_all_to_all(which: ProcessGroup, output: TensorBase, input: TensorBase) -> PreparedCall:
    check_same_dtype(output, input)
    return collectives.prepare_all_to_all(which, *_cut(which, output.array, input.array), name="all_to_all_single")


def _cut(which: ProcessGroup, output: Array, input: Array, *sizes: list[int] | None) -> tuple[list[Array], list[Array]]:
    """The parts of both for each rank."""
    output_sizes, input_sizes = sizes or (None, None)
    outputs, inputs = split(output, output_sizes, which, "output"), split(input, input_sizes, which, "input")
    check_own(inputs, outputs, which.rank())
    return outputs, inputs


def barrier(
    group: ProcessGroup | None = None,
    async_op: bool = False,
    device_ids: list[int] | None = None,
    timeout: timedelta | None = None,
    *,
    algorithm: Algorithm = None,
) -> Work | None:
    """Return when all ranks of the group have come here.

    Args:
        group: The ranks that take part. None means all ranks.
        async_op: Return a Work at once instead of waiting here.
        device_ids: Accepted as in torch; it changes nothing.
        timeout: The time limit of this call; None is the group's.
        algorithm: The name of a schedule, such as "ring". None chooses one by size.

    Returns:
        A Work with `async_op`, else None.

    Raises:
        DistMismatch: Another rank called something else, or with another shape or dtype.
        DistTimeout: A rank did not come within the group's timeout.

    Example:
        >>> def program():
        ...     sim.compute(f"{dist.get_rank()}ms")
        ...     dist.barrier()
        >>> sim.run(program, 3).time  # two milliseconds and the messages, in picoseconds
        2010000000
    """
    prepared = repeated(group, ("barrier", algorithm), collectives.prepare_barrier, algorithm)
    if prepared is None:
        return None
    if not async_op and device_ids is None and timeout is None:
        return prepared.run({})
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    if timeout is not None:
        bootstrap.check_timeout(timeout)
    limit = None if timeout is None else timeout.total_seconds()
    return prepared.run({}, how=How(algorithm, async_op, [], None, limit))


all_gather_into_tensor = _all_gather_base = all_gather_single
reduce_scatter_tensor = _reduce_scatter_base = reduce_scatter_single
