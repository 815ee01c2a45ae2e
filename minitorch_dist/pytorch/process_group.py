"""`MtdProcessGroup`: torch's process group, over a group of ours.

Torch calls its methods from Python (`torch.distributed`) and from C++ (DDP's reducer, functional collectives). Each
makes arrays of the tensors, and lets our collectives carry the operation out: at once, or with `asyncOp` beside the
caller. Ranks in their arguments are ranks of the group. A timeout that is not positive means the group's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final

import torch
import torch.distributed as torch_dist
from torch._C import _distributed_c10d as c10d
from torch.autograd import _profiler_enabled
from torch.autograd.profiler import record_function

from minitorch_dist.distributed import collectives, point_to_point
from minitorch_dist.distributed.exceptions import PeerFailed
from minitorch_dist.distributed.groups import ProcessGroup as OurGroup
from minitorch_dist.distributed.overlaps import check_apart, copied_where_shared
from minitorch_dist.distributed.prepared import NOW, How
from minitorch_dist.distributed.torch_api.collective_arguments import split
from minitorch_dist.distributed.torch_api.object_collectives import monitored_barrier
from minitorch_dist.distributed.work import Work as OurWork, seconds_of
from minitorch_dist.pytorch import device_queue, sparse, storages
from minitorch_dist.pytorch.errors import torch_errors
from minitorch_dist.pytorch.not_compiled import not_compiled
from minitorch_dist.pytorch.own_collectives import in_place_of
from minitorch_dist.pytorch.reduce_steps import step_of
from minitorch_dist.pytorch.tensors_as_arrays import WriteBack, all_to_send, all_to_write, to_send, to_write
from minitorch_dist.pytorch.work import DoneWork, GoingWork, JointWork, QueuedWork

Tensors = list[torch.Tensor]
Act = Callable[..., OurWork | None]

# As torch gives them where a caller gives none.
_BROADCAST: Final = c10d.BroadcastOptions()
_REDUCE: Final = c10d.ReduceOptions()
_GATHER: Final = c10d.GatherOptions()
_SCATTER: Final = c10d.ScatterOptions()
_ALL_REDUCE: Final = c10d.AllreduceOptions()
_COALESCED: Final = c10d.AllreduceCoalescedOptions()
_ALL_GATHER: Final = c10d.AllgatherOptions()
_REDUCE_SCATTER: Final = c10d.ReduceScatterOptions()
_ALL_TO_ALL: Final = c10d.AllToAllOptions()
_BARRIER: Final = c10d.BarrierOptions()


@not_compiled
class MtdProcessGroup(torch_dist.ProcessGroup):
    """Torch's face of a group of ours."""

    def __init__(self, ours: OurGroup, close: Callable[[], None]) -> None:
        super().__init__(ours.rank(), ours.size())
        self.ours, self._close = ours, close
        self._begun: list[DoneWork] | None = None  # between _start_coalescing and _end_coalescing
        self._name, self._description = ours.group_name, ours.group_desc

    # ------------------------------------------------------------------------------- who it is

    def getBackendName(self) -> str:
        return "mtd"

    name = getBackendName

    def rank(self) -> int:
        return self.ours.rank()

    def size(self) -> int:
        return self.ours.size()

    getRank, getSize = rank, size  # noqa: N815 - C++ asks by these names

    def getGroupName(self) -> str:
        return self._name

    def getGroupDesc(self) -> str:
        return self._description

    def setGroupName(self, name: str) -> None:
        self._name = name

    def setGroupDesc(self, description: str) -> None:
        self._description = description

    _set_group_name, _set_group_desc = setGroupName, setGroupDesc
    group_name = pg_name = property(getGroupName)
    group_desc = property(getGroupDesc)
    _device_types = (torch.device("cpu"),)

    def _get_backend(self, device: torch.device) -> MtdProcessGroup:
        """Torch's groups have a backend for each device; this one is its own."""
        return self

    def set_timeout(self, timeout: timedelta) -> None:
        self.ours.set_timeout(timeout)

    _set_default_timeout = set_timeout

    def _get_sequence_number_for_group(self) -> int:
        return self.ours.channel.count

    def _set_sequence_number_for_group(self) -> None:
        """Ours begin with 0 on all ranks."""

    def shutdown(self) -> None:
        with torch_errors():
            self._close()

    def abort(self) -> None:
        """Fail what is going on, here and on the other ranks."""
        self.ours.channel.confess("the process group was aborted")
        self.ours.shutdown()

    def __repr__(self) -> str:
        return f"<ProcessGroup mtd of {self.ours!r}>"

    # ------------------------------------------------------------------------ from one, to one

    def broadcast(self, tensors: Tensors, opts: Any = _BROADCAST) -> DoneWork:
        (tensor,) = tensors
        root, written = opts.rootRank, None
        if self.rank() == root:
            array = to_send(tensor)
        else:
            array, written = to_write(tensor)
        usual = partial(collectives.broadcast, self.ours, array, root)
        act = in_place_of(usual, "broadcast", self.ours, [array], src=root)
        return self._run("broadcast", opts, tensors, act, written)

    def reduce(self, tensors: Tensors, opts: Any = _REDUCE) -> DoneWork:
        (tensor,) = tensors
        root, written = opts.rootRank, None
        array: Any = to_send(tensor)
        if self.rank() == root:
            array, written = to_write(tensor)
        op, written = step_of(opts.reduceOp, tensor, array, written, "reduce", self.size())
        act = partial(collectives.reduce, self.ours, array, root, op)
        return self._run("reduce", opts, tensors, act, written if self.rank() == root else None)

    def gather(self, outputs: list[Tensors], inputs: Tensors, opts: Any = _GATHER) -> DoneWork:
        (tensor,) = inputs
        parts = self._parts_at_root(outputs, tensor, opts.rootRank, "output")
        arrays, written = all_to_write(parts)
        check_apart(arrays, "the output of rank {}".format)
        act = partial(collectives.gather, self.ours, to_send(tensor), arrays or None, opts.rootRank)
        return self._run("gather", opts, parts, act, written)

    def scatter(self, outputs: Tensors, inputs: list[Tensors], opts: Any = _SCATTER) -> DoneWork:
        (tensor,) = outputs
        parts = self._parts_at_root(inputs, tensor, opts.rootRank, "input")
        array, written = to_write(tensor)
        given = copied_where_shared(all_to_send(parts), [array])
        act = partial(collectives.scatter, self.ours, array, given or None, opts.rootRank)
        return self._run("scatter", opts, outputs, act, written)

    def _parts_at_root(self, lists: list[Tensors], own: torch.Tensor, root: int, what: str) -> Tensors:
        """The root's list of a tensor for each rank; the others have none."""
        parts = lists[0] if lists else []
        if (self.rank() == root) != bool(parts):
            raise RuntimeError(
                f"the root, rank {root} of the group, gives a list of {what} tensors, and the others none; this is "
                f"rank {self.rank()}, which gave {len(parts)} tensors"
            )
        if parts:
            self._check_count(parts, what)
        for rank, part in enumerate(parts):
            if part.numel() != own.numel() or part.dtype != own.dtype:
                raise RuntimeError(
                    f"invalid tensor size or type at index {rank}: the {what} has the shape {tuple(part.shape)} of "
                    f"{part.dtype}, and this rank's tensor {tuple(own.shape)} of {own.dtype}"
                )
        return parts

    def _check_count(self, tensors: Tensors, what: str) -> None:
        if len(tensors) != self.size():
            raise RuntimeError(
                f"a group of {self.size()} ranks takes as many {what} tensors, and {len(tensors)} were given"
            )

    # ------------------------------------------------------------------------ from all, to all

    def allreduce(self, tensors: Tensors, opts: Any = _ALL_REDUCE) -> DoneWork:
        if len(tensors) != 1:
            return self.allreduce_coalesced(tensors, opts)
        (tensor,) = tensors
        if tensor.is_sparse:
            with torch_errors():
                return sparse.all_reduce(self.ours, tensor, opts)
        array, written = to_write(tensor)
        op, written = step_of(opts.reduceOp, tensor, array, written, "all_reduce", self.size())
        usual = partial(collectives.all_reduce, self.ours, array, op)
        act = in_place_of(usual, "all_reduce", self.ours, [array], opts.reduceOp)
        return self._run("all_reduce", opts, tensors, act, written)

    def allgather(self, outputs: list[Tensors], inputs: Tensors, opts: Any = _ALL_GATHER) -> DoneWork:
        (parts,), (tensor,) = outputs, inputs
        self._check_count(parts, "output")
        arrays, written = all_to_write(parts)
        check_apart(arrays, "the output of rank {}".format)
        given, own = to_send(tensor), arrays[self.rank()]
        if given.size != own.size or given.dtype != own.dtype:
            raise RuntimeError(
                f"this rank's output has {own.size} elements of {own.dtype}, and its input {given.size} of {given.dtype}"
            )
        act = partial(collectives.all_gather, self.ours, given, arrays)
        return self._run("all_gather", opts, parts, act, written)

    def all_gather_single(self, output: torch.Tensor, input: torch.Tensor, opts: Any = _ALL_GATHER) -> DoneWork:
        _check_pair(output, input, self.size(), "output")
        array, written = to_write(output)
        given = to_send(input)
        usual = partial(collectives.all_gather_into, self.ours, given, array)
        act = in_place_of(usual, "all_gather", self.ours, [array, given])
        return self._run("all_gather_into_tensor", opts, [output], act, written)

    def reduce_scatter(self, outputs: Tensors, inputs: list[Tensors], opts: Any = _REDUCE_SCATTER) -> DoneWork:
        (output,), (parts,) = outputs, inputs
        self._check_count(parts, "input")
        array, written = to_write(output)
        given = all_to_send(parts)
        own = given[self.rank()]
        if own.size != array.size or own.dtype != array.dtype:
            raise RuntimeError(
                f"this rank's part of the input has {own.size} elements of {own.dtype}, and its output {array.size} of "
                f"{array.dtype}"
            )
        op, written = step_of(opts.reduceOp, output, array, written, "reduce_scatter", self.size())
        act = partial(collectives.reduce_scatter, self.ours, array, given, op)
        return self._run("reduce_scatter", opts, outputs, act, written)

    def reduce_scatter_single(self, output: torch.Tensor, input: torch.Tensor, opts: Any = _REDUCE_SCATTER) -> DoneWork:
        _check_pair(input, output, self.size(), "input")
        array, written = to_write(output)
        op, written = step_of(opts.reduceOp, output, array, written, "reduce_scatter", self.size())
        given = to_send(input)
        usual = partial(collectives.reduce_scatter_from, self.ours, array, given, op)
        act = in_place_of(usual, "reduce_scatter", self.ours, [array, given], opts.reduceOp)
        return self._run("reduce_scatter_tensor", opts, [output], act, written)

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = _ALL_TO_ALL) -> DoneWork:
        self._check_count(outputs, "output")
        self._check_count(inputs, "input")
        taken, written = all_to_write(outputs)
        check_apart(taken, "the output of rank {}".format)
        given = copied_where_shared(all_to_send(inputs), taken)
        act = partial(collectives.all_to_all, self.ours, taken, given)
        return self._run("all_to_all", opts, outputs, act, written)

    def all_to_all_single(
        self,
        output: torch.Tensor,
        input: torch.Tensor,
        output_split_sizes: Sequence[int],
        input_split_sizes: Sequence[int],
        opts: Any = _ALL_TO_ALL,
    ) -> DoneWork:
        array, written = to_write(output)
        (given,) = copied_where_shared([to_send(input)], [array])
        taken = split(array, output_split_sizes, self.ours, "output")
        parts = split(given, input_split_sizes, self.ours, "input")
        act = partial(collectives.all_to_all, self.ours, taken, parts, name="all_to_all_single")
        return self._run("all_to_all_single", opts, [output], act, written)

    def barrier(self, opts: Any = _BARRIER) -> DoneWork:
        return self._run("barrier", opts, [], partial(collectives.barrier, self.ours))

    def monitored_barrier(self, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        """A barrier in which rank 0 names who did not come; the others learn of it, in torch's words."""
        with torch_errors():
            try:
                monitored_barrier(self.ours, timeout, wait_all_ranks)
            except PeerFailed as failed:
                said = f"Rank {self.rank()} successfully reached monitoredBarrier, but received errors while waiting "
                failed.args = (f"{said}for send/recv from rank 0: {failed}",)
                raise

    # ---------------------------------------------------------------------- many at a time

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = _COALESCED) -> DoneWork:
        return JointWork([self.allreduce([tensor], opts) for tensor in tensors], tensors)

    def allgather_coalesced(self, outputs: list[Tensors], inputs: Tensors, opts: Any = _ALL_GATHER) -> DoneWork:
        """`outputs[r][i]` becomes the i-th input of rank r."""
        pairs = zip(zip(*outputs, strict=True), inputs, strict=True)
        works = [self.allgather([list(of_ranks)], [own], opts) for of_ranks, own in pairs]
        return JointWork(works, [part for of_rank in outputs for part in of_rank])

    def all_gather_single_coalesced(self, outputs: Tensors, inputs: Tensors, opts: Any = _ALL_GATHER) -> DoneWork:
        pairs = zip(outputs, inputs, strict=True)
        return JointWork([self.all_gather_single(*pair, opts) for pair in pairs], outputs)

    def reduce_scatter_single_coalesced(
        self, outputs: Tensors, inputs: Tensors, opts: Any = _REDUCE_SCATTER
    ) -> DoneWork:
        pairs = zip(outputs, inputs, strict=True)
        return JointWork([self.reduce_scatter_single(*pair, opts) for pair in pairs], outputs)

    def _start_coalescing(self, device: torch.device) -> None:
        self._begun = []

    def _end_coalescing(self, device: torch.device) -> DoneWork:
        works, self._begun = self._begun or [], None
        return JointWork(works, [])

    # Torch's names of before 2.13.
    _allgather_base = all_gather_single
    _reduce_scatter_base = reduce_scatter_single
    alltoall_base = all_to_all_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    # ----------------------------------------------------------------------- from rank to rank

    def send(self, tensors: Tensors, dst: int, tag: int = 0) -> DoneWork:
        (tensor,) = tensors
        act = partial(point_to_point.isend, self.ours, to_send(tensor), dst, tag)
        return self._begin("send", tensors, act)

    def recv(self, tensors: Tensors, src: int, tag: int = 0) -> DoneWork:
        return self._receive("recv", tensors, src, tag)

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> DoneWork:
        return self._receive("recvAnySource", tensors, None, tag)

    def _receive(self, name: str, tensors: Tensors, src: int | None, tag: int) -> DoneWork:
        (tensor,) = tensors
        array, written = to_write(tensor)
        act = partial(point_to_point.irecv, self.ours, array, src, tag, arrived=written)
        return self._begin(name, tensors, act)

    # ------------------------------------------------------------------------- carrying it out

    def _run(self, name: str, opts: Any, tensors: Tensors, act: Act, written: WriteBack | None = None) -> DoneWork:
        """Carry a collective out, at once or beside the caller."""
        storages.note_written(tensors)
        beside, timeout = getattr(opts, "asyncOp", True), seconds_of(opts.timeout)
        if device_queue.works_on(tensors):
            work = self._begin(name, tensors, partial(act, how=How(None, True, None, written, timeout)))
            if not beside:
                work.wait()
            return work
        if beside or timeout is not None or written is not None:
            return self._begin(name, tensors, partial(act, how=How(None, beside, None, written, timeout)))
        return self._begin(name, tensors, partial(act, how=NOW))

    def _begin(self, name: str, tensors: Tensors, act: Act) -> DoneWork:
        with torch_errors():
            if device_queue.works_on(tensors):
                return self._coalesced(QueuedWork(device_queue.begin(self.ours, act), tensors))
            device_queue.flush()
            if _profiler_enabled():
                with record_function(f"{self.name()}:{name}"):
                    ours = act()
            else:
                ours = act()
        return self._coalesced(DoneWork(tensors) if ours is None else GoingWork(ours, tensors))

    def _coalesced(self, work: DoneWork) -> DoneWork:
        if self._begun is not None:
            self._begun.append(work)
        return work


def _check_pair(whole: torch.Tensor, part: torch.Tensor, size: int, what: str) -> None:
    """One of two tensors has a part for each rank, of the other's size."""
    if whole.dtype != part.dtype:
        raise TypeError(f"the two tensors must have one dtype, and have {whole.dtype} and {part.dtype}")
    if whole.numel() != part.numel() * size:
        raise ValueError(
            f"the {what} must have {part.numel()} elements for each of the {size} ranks, and has {whole.numel()}"
        )
