"""Modes that watch the operations of a rank: what they take (`operation_time`), and what they hold (`storages`).

An operation of DTensors is not looked at itself: what it does with this rank's local tensors comes to the mode, too. Before a DTensor does
an operation for the first time, it tries it without numbers at its whole size. Nobody shall see that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from torch.distributed.tensor._sharding_prop import ShardingPropagator
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from minitorch_dist.pytorch.replacing import replaced

TRIES: Final = "_propagate_tensor_meta_non_cached"


class WatchingMode(TorchDispatchMode):
    """Sees each operation with its result."""

    is_on = True

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        raise NotImplementedError

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if any(hasattr(kind, "__tensor_flatten__") for kind in types):
            return NotImplemented
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if self.is_on:
            self.see(func, args, kwargs, result)
        return result


@contextmanager
def around_run() -> Iterator[None]:
    with replaced(ShardingPropagator, TRIES, _unseen(getattr(ShardingPropagator, TRIES))):
        yield


def _unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    def unseen(*args: Any, **kwargs: Any) -> Any:
        modes = [each for each in _get_current_dispatch_mode_stack() if isinstance(each, WatchingMode)]
        for each in modes:
            each.is_on = False
        try:
            return function(*args, **kwargs)
        finally:
            for each in modes:
                each.is_on = True

    return unseen
