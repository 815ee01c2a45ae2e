"""Tensors of torch that have a shape and no numbers, for all that a rank makes: torch's own FakeTensors.

They take no memory, so a model of many billions of parameters fits. Messages have a length and no bytes, and
the time is the same. A number that a program asks for (`loss.item()`) is nan, or 0 for integers. The
grids of a DeviceMesh, and objects that are sent, have real ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.distributed import device_mesh, distributed_c10d as c10d
from torch.utils._python_dispatch import TorchDispatchMode

from minitorch_dist.pytorch import device_queue, shape_reducer
from minitorch_dist.pytorch.replacing import replaced, replaced_everywhere

_OBJECTS: Final = (
    "all_gather_object",
    "gather_object",
    "broadcast_object_list",
    "scatter_object_list",
    "send_object_list",
    "recv_object_list",
)


@contextmanager
def around_rank() -> Iterator[None]:
    """All that the rank makes has no numbers."""
    with FakeTensorMode(allow_non_fake_inputs=True), NumbersAskedFor():
        yield


@contextmanager
def around_run() -> Iterator[None]:
    """The functions that need numbers have them."""
    functions = [device_mesh.init_device_mesh, *(getattr(c10d, name) for name in _OBJECTS)]
    mesh = device_mesh.DeviceMesh
    with ExitStack() as around:
        for function in functions:
            around.enter_context(replaced_everywhere(function, _with_numbers(function)))
        around.enter_context(replaced(mesh, "__init__", _with_numbers(mesh.__init__)))
        around.enter_context(shape_reducer.around_run())
        around.enter_context(replaced(torch.utils, "swap_tensors", _swap(torch.utils.swap_tensors)))
        yield


def _swap(original: Callable[..., None]) -> Callable[..., None]:
    """`module.to(…)` swaps tensors without numbers, which torch refuses for one that somebody refers to weakly. All are
    on one device here, so it may get the other one's data, as a tensor with numbers does."""

    def swap_tensors(one: torch.Tensor, other: torch.Tensor) -> None:
        if is_fake(one) and is_fake(other):
            one.data = other.data
        else:
            original(one, other)

    return swap_tensors


def _with_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def real(*args: Any, **kwargs: Any) -> Any:
        with unset_fake_temporarily():
            return function(*args, **kwargs)

    return real


class NumbersAskedFor(TorchDispatchMode):
    """Answers `item()` of a tensor without numbers."""

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default and is_fake(args[0]):
            device_queue.flush()
            dtype = args[0].dtype
            return float("nan") if dtype.is_floating_point else False if dtype is torch.bool else 0
        return func(*args, **(kwargs or {}))


def is_fake(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, torch._subclasses.FakeTensor)
