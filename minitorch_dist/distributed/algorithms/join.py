"""`Join`: training goes on although some ranks have run out of inputs.

    with Join([model, optimizer]):
        for x in inputs:                    # of different length on each rank
            model(x).sum().backward()
            optimizer.step()

Every collective needs all ranks. A rank that is done therefore stays in the `with` and *shadows* the
others: it takes part in each of their collectives, with zeros, until all are done.

    rank 0   1 step   1 step   0 shadow   0 shadow   0 ─► after
    rank 1   1 step   1 step   1 step     0 shadow   0 ─► after       one all_reduce per iteration
    rank 2   1 step   1 step   1 step     1 step     0 ─► after       counts who still trains
    sum      3        3        2          1          0

Only the caller of the collectives knows what a shadow has to do. So each `Joinable` gives a `JoinHook`:
its `main_hook` answers the collectives of one iteration, and its `post_hook` runs at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.torch_api.tensor_collectives import all_reduce
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor


class JoinHook:
    """The work of a rank for one joinable once it has run out of inputs."""

    def main_hook(self) -> None:
        """Answer the collectives of one iteration of the ranks that still train."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once when all ranks are done. The last joiners are those that trained longest."""


class JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


DISABLED: Final = JoinConfig(False, False, False)


class Joinable(ABC):
    """Something with collectives in every iteration. A subclass calls this `__init__`, and
    `Join.notify_join_context(self)` before the first collective of each iteration."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = DISABLED

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook for a rank that is done; `kwargs` are those given to `Join`."""

    @property
    @abstractmethod
    def join_device(self) -> devices.device: ...

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup: ...


class Join:
    """The context manager in which ranks may have different numbers of batches. All `joinables` belong to one process group.

    Args:
        joinables: Models and optimizers that communicate, such as a DDP module.
        enable: False makes it a block without effect.
        throw_on_early_termination: Nobody shadows. As soon as one rank has run out, all ranks raise a RuntimeError.
        **kwargs: Options that are handed to all joinables.

    Example:
        >>> def train():
        ...     model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
        ...     with dist.algorithms.join.Join([model]):
        ...         for _ in range(1 + dist.get_rank()):
        ...             model(torch.ones(1, 1)).sum().backward()
        ...     return "done"
        >>> sim.run(train, 2).results
        ['done', 'done']
    """

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable = joinables, enable
        self._throws = throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        groups = {joinable.join_process_group for joinable in joinables}
        if len(groups) > 1:
            raise ValueError(f"Using join context manager with multiple process groups: {groups}")
        self._group, self._device = joinables[0].join_process_group, joinables[0].join_device

    def __enter__(self) -> Join:
        for number, joinable in enumerate(self._joinables):
            joinable._join_config = JoinConfig(self._enable, self._throws, number == 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Shadow the ranks that still train, until there are none."""
        try:
            if self._enable and kind is None:
                self._shadow()
        finally:
            for joinable in self._joinables:
                joinable._join_config = DISABLED

    def _shadow(self) -> None:
        is_last = True
        while _count(0, self._device, self._group) > 0:
            is_last = False
            if self._throws:
                # The others look at this count before they go on.
                _count(1, self._device, self._group)
                rank = distributed_c10d.get_rank(self._group)
                raise RuntimeError(f"Rank {rank} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(is_last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Say that this rank still trains, if `joinable` is the first of a `Join`. Raises if a rank has run out and all
        are to stop then."""
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return
        device, group = joinable.join_device, joinable.join_process_group
        _count(1, device, group)
        if config.throw_on_early_termination and _count(0, device, group) > 0:
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")


def _count(mine: int, device: devices.device, group: ProcessGroup) -> float:
    """The sum of what all ranks give."""
    total: Tensor = creation.full((1,), float(mine), device=device)
    all_reduce(total, group=group)
    return float(total.array[0])
