"""ZeRO, stage 1: every rank keeps the optimizer's state of some parameters only (arXiv:1910.02054).

    gradients    averaged by DDP, on every rank
    rank 0       Adam for a, d          state of a and d only
    rank 1       Adam for b, c          state of b and c only
    then         each rank's new parameters to all          one all_gather

The step is the same as that of one optimizer for all parameters, bit for bit, and its memory is
divided by the number of ranks. Whole parameters are assigned: the largest first, to the rank that has
least so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

import numpy as np

from minitorch_dist.distributed.algorithms.join import Join, Joinable, JoinHook
from minitorch_dist.distributed.ddp import buckets
from minitorch_dist.distributed.groups import ProcessGroup, global_rank_of, group_rank_of, resolve
from minitorch_dist.distributed.torch_api.object_collectives import gather_object
from minitorch_dist.distributed.torch_api.tensor_collectives import all_gather
from minitorch_dist.optim.elementwise import evaluate
from minitorch_dist.optim.optimizer import Closure, Group, Loss, Optimizer, Params
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.tensor import Tensor

Partition = list[list[Group]]  # by rank, a list as long as param_groups


class ZeroJoinHook(JoinHook):
    """A rank without inputs still owns parameters, and steps with the gradients of the others."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Spreads `optimizer_class(params, **defaults)` over the ranks of a group, so that each keeps a part of its state.

    Args:
        params: The parameters, as for any optimizer.
        optimizer_class: The class of the optimizer that steps each part.
        process_group: The ranks; None means all.
        parameters_as_bucket_view: Accepted as in torch, where it saves copies; it changes nothing.
        overlap_with_ddp: Must be False.
        **defaults: The options of `optimizer_class`, such as `lr`.

    Example:
        >>> def train():
        ...     torch.manual_seed(0)
        ...     model = nn.Linear(2, 1)
        ...     optimizer = dist.optim.ZeroRedundancyOptimizer(model.parameters(), optim.SGD, lr=0.1)
        ...     model(torch.ones(1, 2)).sum().backward()
        ...     before = model.weight.sum().item()
        ...     optimizer.step()
        ...     return round(before - model.weight.sum().item(), 4)
        >>> sim.run(train, 2).results
        [0.2, 0.2]
    """

    def __init__(
        self,
        params: Params,
        optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        self.process_group = resolve(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        if overlap_with_ddp:
            raise NotImplementedError(
                "overlap_with_ddp=True is not offered: call step() after backward. PyTorch has steps within backward"
            )
        self._is_ready = False
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self._all_state_dicts: list[Any] = []
        self._partition = self._partition_parameters()
        self.optim = optimizer_class(self._partition[self.rank], **defaults)
        self._complete_options()
        self.state = self.optim.state
        self._is_ready = True

    # --------------------------------------------------------------------------- who owns what

    def _all_params(self) -> list[TensorBase]:
        return [p for group in self.param_groups for p in group["params"]]

    def _partition_parameters(self) -> Partition:
        """For each rank its groups: the largest parameter first, to whom has least."""
        found: Partition = [[] for _ in range(self.world_size)]
        sizes = [0] * self.world_size
        for group in self.param_groups:
            parts: list[list[TensorBase]] = [[] for _ in range(self.world_size)]
            for p in sorted(group["params"], key=lambda p: p.array.size, reverse=True):
                rank = sizes.index(min(sizes))
                parts[rank].append(p)
                sizes[rank] += p.array.size
            for rank, part in enumerate(parts):
                found[rank].append({**group, "params": part})
        return found

    def _owned(self, rank: int) -> list[TensorBase]:
        return [p for group in self._partition[rank] for p in group["params"]]

    def _complete_options(self) -> None:
        """The local optimizer's defaults are also those of the groups seen here."""
        for mine, local in zip(self.param_groups, self.optim.param_groups, strict=True):
            mine.update({**local, **mine})
        self.defaults = self.optim.defaults

    def add_param_group(self, param_group: Group) -> None:
        """Optimize these as well. Every rank calls it with the same parameters."""
        super().add_param_group(param_group)
        if self._is_ready:
            self._partition = self._partition_parameters()
            self.optim.add_param_group(self._partition[self.rank][-1])
            self._complete_options()

    # --------------------------------------------------------------------------------- the step

    @overload
    def step(self, closure: None = None, **kwargs: Any) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss], **kwargs: Any) -> Loss: ...
    def step(self, closure: Closure | None = None, **kwargs: Any) -> Any:
        """Step for one's own parameters, and take the others' from their owners."""
        Join.notify_join_context(self)
        loss = self._local_step(closure)
        self._exchange()
        return loss

    def _local_step(self, closure: Closure | None = None) -> Any:
        loss = evaluate(closure)
        _take_options(self.optim.param_groups, self.param_groups)
        self.optim.step()
        _take_options(self.param_groups, self.optim.param_groups)
        return loss

    def _exchange(self) -> None:
        """Every owner's parameters to all ranks: one all_gather of flat arrays for each kind of tensor."""
        if self.world_size == 1:
            return
        for kind in sorted({_kind(p) for p in self._all_params()}, key=str):
            rows = [[p for p in self._owned(rank) if _kind(p) == kind] for rank in range(self.world_size)]
            arrays = [_room(members, rows) for members in rows]
            for p, window in buckets.windows(arrays[self.rank], rows[self.rank]):
                window[...] = p.array
            outputs = [base.new(Tensor, array) for array in arrays]
            all_gather(outputs, outputs[self.rank], group=self.process_group)
            for rank, (array, members) in enumerate(zip(arrays, rows, strict=True)):
                for p, window in buckets.windows(array, members) if rank != self.rank else ():
                    p.array[...] = window
                    p.storage.version += 1

    # -------------------------------------------------------------------------------- the state

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring all state to rank `to`, which may call `state_dict()` then. Every rank calls this."""
        target = group_rank_of(self.process_group, to)
        _take_options(self.optim.param_groups, self.param_groups)
        mine = self.optim.state_dict()
        is_target = self.rank == target
        found: list[Any] | None = [None] * self.world_size if is_target else None
        gather_object(mine, found, group=self.process_group, group_dst=target)
        self._all_state_dicts = found or []

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as one optimizer for all parameters would have it."""
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={global_rank_of(self.process_group, self.rank)})` on "
                "all ranks beforehand if you meant to save the global state."
            )
        whole = super().state_dict()
        number_of = {id(p): number for number, p in enumerate(self._all_params())}
        state: dict[int, Any] = {}
        for rank, local in enumerate(self._all_state_dicts):
            for index, p in enumerate(self._owned(rank)):
                if index in local["state"]:
                    state[number_of[id(p)]] = local["state"][index]
        whole["state"] = dict(sorted(state.items()))
        return whole

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a whole state; of it, this rank keeps what it owns."""
        owned = {id(p) for p in self._owned(self.rank)}
        numbers = [number for group in state_dict["param_groups"] for number in group["params"]]
        own = {n for n, p in zip(numbers, self._all_params(), strict=False) if id(p) in owned}
        state = {number: value for number, value in state_dict["state"].items() if number in own}
        super().load_state_dict({**state_dict, "state": state})
        self.optim.__setstate__({"state": self.state, "param_groups": self.optim.param_groups})
        _take_options(self.optim.param_groups, self.param_groups)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return ZeroJoinHook(self)

    @property
    def join_device(self) -> devices.device:
        return self._all_params()[0].storage.device

    @property
    def join_process_group(self) -> ProcessGroup:
        return self.process_group


def _take_options(into: list[Group], of: list[Group]) -> None:
    """Copy what groups say beside their parameters; a scheduler may have changed either side."""
    for mine, theirs in zip(into, of, strict=True):
        mine.update({name: value for name, value in theirs.items() if name != "params"})


def _kind(p: TensorBase) -> tuple[Any, str]:
    return p.array.dtype, str(p.storage.device)


def _room(members: list[TensorBase], rows: list[list[TensorBase]]) -> Array:
    """An empty flat array for these; of the rows' dtype, also if there are none."""
    first = next(p.array for row in rows for p in row)
    return np.empty(sum(p.array.size for p in members), first.dtype, like=first)
