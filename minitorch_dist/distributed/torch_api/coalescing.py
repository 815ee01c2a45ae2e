"""Several collectives as one: small tensors are put side by side, and travel together.

    with _coalescing_manager():            all_reduce(a)      ┐
        all_reduce(a)                      all_reduce(b)      ├─ one operation on  a b c
        all_reduce(b)                      all_reduce(c)      ┘  and back to where they belong
        all_reduce(c)

A collective costs a few latencies, however short it is; k of them cost k times as much, and one on
all of their elements hardly more than one. Within the block a call of all_reduce, all_gather_into_tensor
or reduce_scatter_tensor of that group is only noted down. At the block's end those that were become the
group's next operation, so they must be of one kind, one dtype and one reduce op. Other collectives are
carried out as they are called.

The operation's fingerprint holds the sizes of the tensors, so ranks that put others side by side are told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch_dist.distributed import collectives, groups
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.prepared import Algorithm, How
from minitorch_dist.distributed.reduce_op import RedOpType, ReduceOp, name_of, reduction_of
from minitorch_dist.distributed.torch_api.collective_arguments import (
    all_to_write,
    check_length,
    check_same_dtype,
)
from minitorch_dist.distributed.torch_api.membership import warn_not_in_group
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.distributed.torch_api.tensor_arrays import check_tensors, to_send, to_write
from minitorch_dist.distributed.work import Work
from minitorch_dist.futures import Future
from minitorch_dist.tensors.core.base import TensorBase

SUM: Final = ReduceOp.SUM


class CoalescedCall(NamedTuple):
    """A call that waits for the end of the block."""

    kind: str
    input: TensorBase
    output: TensorBase
    op: Any


class _CoalescingManager:
    """The value of the `with`: its `wait` returns when the operation that came of the block is done."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        for work in self.works:
            work.wait()

    def __repr__(self) -> str:
        return f"<_CoalescingManager, {self.works}>"


class _IllegalWork(Work):
    """The result of a call with `async_op=True` within the block: there is nothing to wait for yet."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        if name in ("is_success", "exception", "wait", "source_rank", "_source_rank", "result", "synchronize"):  # fmt: skip
            raise ValueError(
                f"Illegal to call {name} on IllegalWork object: what is called within "
                "_coalescing_manager begins when the block ends. Wait for what the block gives: "
                "`with _coalescing_manager(async_ops=True) as both: …`, then `both.wait()`"
            )
        return super().__getattribute__(name)

    def __repr__(self) -> str:
        return "<_IllegalWork: it begins when the block of _coalescing_manager ends>"


class _coalescing_manager:  # torch's name
    """Within the block, the group's all_reduce, all_gather_into_tensor and reduce_scatter_tensor are
    noted down; at its end they become one operation. If the block raises they are forgotten."""

    def __init__(
        self, group: ProcessGroup | None = None, device: Any = None, async_ops: bool = False
    ) -> None:
        self._group, self._async_ops = or_default(group), async_ops
        self._manager = _CoalescingManager()
        self._noted: list[CoalescedCall] = []
        self._prepared: dict[Any, Any] = {}

    def __enter__(self) -> _CoalescingManager:
        group = self._group
        group.demand_open()
        if group.noting is not None:
            raise ValueError(
                "ProcessGroup has non-empty op list at the start of coalescing: blocks of "
                f"_coalescing_manager do not nest, and group {group.channel.name!r} is in one"
            )
        group.noting = self.note
        self._prepared, group.prepared = group.prepared, {}  # so that each call is noted
        return self._manager

    def note(
        self, kind: str, input: TensorBase, output: TensorBase, op: Any, is_asynchronous: bool
    ) -> Work | None:
        """Called in place of the operation."""
        self._noted.append(CoalescedCall(kind, input, output, op))
        return _IllegalWork() if is_asynchronous else None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._group.noting, self._group.prepared = None, self._prepared
        if error is None and self._noted:
            work = self._begin()
            if self._async_ops:
                self._manager.append(work)

    def _begin(self) -> Work | None:
        noted = self._noted
        kinds = {call.kind for call in noted}
        if len(kinds) > 1:
            raise RuntimeError(
                "Coalescing manager requires all collectives to be the same type, but got mixed "
                f"types: {kinds}. Give each kind a block of its own"
            )
        ops = {name_of(call.op) for call in noted}
        if len(ops) > 1:
            raise RuntimeError(
                "Coalescing manager requires all collectives to reduce by the same op, but got "
                f"{', '.join(sorted(map(str.upper, ops)))}. Give each op a block of its own"
            )
        check_one_dtype([call.input for call in noted])
        inputs, outputs = [call.input for call in noted], [call.output for call in noted]
        how = How(asynchronous=self._async_ops, output=outputs)
        begin: Callable[..., Work | None] = _KINDS[noted[0].kind]
        return begin(self._group, inputs, outputs, noted[0].op, how)


def check_one_dtype(tensors: Sequence[TensorBase]) -> None:
    dtypes = dict.fromkeys(str(tensor.dtype) for tensor in tensors)
    if len(dtypes) > 1:
        raise RuntimeError(
            f"coalesced tensors must all have the same type, but got {', '.join(dtypes)}. Give each "
            "dtype an operation of its own"
        )


# ---------------------------------------------------------------------------- side by side, and back


def _joined(arrays: Sequence[Array]) -> Array:
    return np.concatenate([array.reshape(-1) for array in arrays])


def _part(together: Array, into: Sequence[Array]) -> None:
    """Cut what lies side by side, and put it where it belongs."""
    start = 0
    for array in into:
        array.reshape(-1)[:] = together[start : start + array.size]
        start += array.size


def _reduce_all(
    group: ProcessGroup, tensors: list[TensorBase], _: Any, op: Any, how: How
) -> Work | None:
    pairs = [to_write(tensor) for tensor in tensors]  # they may overlap: the sums agree
    arrays = [array for array, _ in pairs]
    together = _joined(arrays)

    def back() -> None:
        _part(together, arrays)
        for _, written in pairs:
            written()

    sizes = tuple(array.size for array in arrays)
    reduction = reduction_of(op, together.dtype)
    return collectives.all_reduce(
        group, together, reduction, how._replace(written=back), parts=sizes
    )


def _gather_all(
    group: ProcessGroup, inputs: list[TensorBase], outputs: list[TensorBase], _: Any, how: How
) -> Work | None:
    """Every rank's parts come side by side; those of one tensor belong one after the other."""
    arrays, written = all_to_write(outputs, "output_tensor")
    own = [to_send(tensor) for tensor in inputs]
    together = _joined(own)
    gathered = np.empty((group.size(), together.size), together.dtype, like=together)

    def back() -> None:
        rows = [array.reshape(group.size(), -1) for array in arrays]
        for rank, row in enumerate(gathered):
            _part(row, [row_of[rank] for row_of in rows])
        written()

    sizes = tuple(array.size for array in own)
    return collectives.all_gather_into(
        group, together, gathered, how._replace(written=back), parts=sizes
    )


def _scatter_sums(
    group: ProcessGroup, inputs: list[TensorBase], outputs: list[TensorBase], op: Any, how: How
) -> Work | None:
    """Put the parts of all tensors that are for one rank side by side."""
    arrays, written = all_to_write(outputs, "output")
    rows = [to_send(tensor).reshape(group.size(), -1) for tensor in inputs]
    together = _joined([row[rank] for rank in range(group.size()) for row in rows])
    mine = np.empty(sum(array.size for array in arrays), together.dtype, like=together)

    def back() -> None:
        _part(mine, arrays)
        written()

    sizes = tuple(array.size for array in arrays)
    reduction = reduction_of(op, together.dtype)
    return collectives.reduce_scatter_from(
        group, mine, together, reduction, how._replace(written=back), parts=sizes
    )


_KINDS: Final = {
    "all_reduce": _reduce_all,
    "all_gather_single": _gather_all,
    "reduce_scatter_single": _scatter_sums,
}

# ------------------------------------------------------------------------------ the same as functions


def _handed_out(work: Work | None) -> Future[Any] | None:
    """These two give a future, as torch's do."""
    return None if work is None else work.get_future()


def all_reduce_coalesced(
    tensors: TensorBase | list[TensorBase],
    op: ReduceOp | RedOpType = SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    algorithm: Algorithm = None,
) -> Future[Any] | None:
    """Several tensors of one dtype reduced in one operation."""
    if isinstance(tensors, TensorBase):
        tensors = [tensors]
    check_tensors(tensors, "tensor")
    check_same_dtype(*tensors)
    if not groups.is_member(group):
        warn_not_in_group("all_reduce_coalesced")
        return None
    if not tensors:
        raise RuntimeError("all_reduce_coalesced: requires non-empty tensor list")
    how = How(algorithm, async_op, tensors)
    return _handed_out(_reduce_all(or_default(group), tensors, None, op, how))


def all_gather_coalesced(
    output_tensor_lists: list[list[TensorBase]],
    input_tensor_list: list[TensorBase],
    group: ProcessGroup | None = None,
    async_op: bool = False,
    *,
    algorithm: Algorithm = None,
) -> Future[Any] | None:
    """Everybody's tensors to everybody, in one operation: `output_tensor_lists[r]` are rank r's."""
    if not groups.is_member(group):
        warn_not_in_group("all_gather_coalesced")
        return None
    which = or_default(group)
    check_tensors(input_tensor_list, "input_tensor_list")
    check_same_dtype(*input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for outputs in output_tensor_lists:
        check_tensors(outputs, "output_tensor_lists")
        check_same_dtype(*input_tensor_list, *outputs)
    if not input_tensor_list:
        raise RuntimeError("all_gather_coalesced: requires non-empty input tensor list")
    check_length("output tensor", output_tensor_lists, which)
    sizes = tuple(tensor.array.size for tensor in input_tensor_list)
    for rank, outputs in enumerate(output_tensor_lists):
        theirs = tuple(tensor.array.size for tensor in outputs)
        if theirs != sizes:
            raise RuntimeError(
                f"all_gather_coalesced: invalid output sizes at index {rank} (expected tensors of "
                f"{sizes} elements, got {theirs})"
            )
    flat = [tensor for outputs in output_tensor_lists for tensor in outputs]
    arrays, written = all_to_write(flat, "output_tensor_lists", len(sizes))
    together = _joined([to_send(tensor) for tensor in input_tensor_list])
    gathered = np.empty((which.size(), together.size), together.dtype, like=together)

    def back() -> None:
        _part(gathered.reshape(-1), arrays)
        written()

    how = How(algorithm, async_op, output_tensor_lists, back)
    return _handed_out(collectives.all_gather_into(which, together, gathered, how, parts=sizes))
