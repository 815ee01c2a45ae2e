"""`cuda` in a simulated program of a torch that has no GPU: a label, behind which the CPU computes.

Scripts for several GPUs begin with `torch.cuda.set_device(local_rank)`. From there on, for this rank, every function
that is given a device `cuda` gets `cpu`. A run with `device=` has GPUs from its beginning. A script that asks
`torch.cuda.is_available()` before hears the truth, and takes its own way for the CPU. Questions about a GPU are answered where the run has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode

from minitorch_dist.distributed import world
from minitorch_dist.pytorch import device_queue, gpu_questions
from minitorch_dist.pytorch.gpu_questions import GIVEN, is_label
from minitorch_dist.pytorch.replacing import replaced

CPU: Final = torch.device("cpu")
_TO: Final = (torch.Tensor.to, torch.Tensor.cuda)
NOT_HERE: Final = (
    "this torch has no GPU. On simulated ranks torch.cuda.set_device(local_rank) makes cuda a label behind which the "
    "CPU computes: call it before the first tensor goes there, or take the device cpu"
)


class CudaIsCpu(TorchFunctionMode):
    """Within it, functions of torch that are given a device `cuda` get the CPU."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func in _TO:
            args = (args[0], CPU) if func is _TO[1] else (args[0], *map(_cpu_or_index, args[1:]))
            func = torch.Tensor.to
            kwargs.pop("memory_format", None) if kwargs.get("memory_format") is None else None
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _cpu_or_index(kwargs["device"])}
        return func(*args, **kwargs)


def _cpu_or_index(value: Any) -> Any:
    """A whole number is one of cuda's devices, too."""
    return CPU if type(value) is int else gpu_questions.cpu(value)


# ------------------------------------------------------------------------------ torch.cuda itself


def _set_device(device: Any) -> None:
    given = world.place().given
    given["cuda device"] = torch.device(device).index if isinstance(device, str) else getattr(device, "index", device)
    enter()


def enter() -> None:
    """From here on `cuda` is a label for this rank."""
    given = world.place().given
    if GIVEN not in given and not torch.cuda.is_available():
        given[GIVEN] = mode = CudaIsCpu()
        mode.__enter__()


def leave() -> None:
    """At the end of a rank."""
    mode = world.place().given.pop(GIVEN, None)
    if mode is not None:
        mode.__exit__(None, None, None)


def _nothing(*args: Any, **kwargs: Any) -> None:
    """There is nothing to wait for, and nothing to give back."""


def _nothing_around(*args: Any, **kwargs: Any) -> Any:
    return nullcontext()


def _refuse(*args: Any, **kwargs: Any) -> None:
    raise RuntimeError(NOT_HERE)


_INSTEAD: Final = {
    "set_device": _set_device,
    "current_device": gpu_questions.current,
    "synchronize": device_queue.flush,
    "empty_cache": _nothing,
    "stream": _nothing_around,
    "_lazy_init": _refuse,
    "get_rng_state": lambda device=None: torch.get_rng_state(),
    "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
}


@contextmanager
def in_place() -> Iterator[None]:
    """For all ranks of a run, if this torch has no GPU of its own."""
    if torch.cuda.is_available():
        yield
        return
    ddp = torch.nn.parallel.DistributedDataParallel
    with ExitStack() as around:
        around.enter_context(gpu_questions.answered())
        for name, ours in _INSTEAD.items():
            around.enter_context(replaced(torch.cuda, name, ours))
        # Torch notes it where an operation fails of a group that is called nccl.
        around.enter_context(replaced(torch.cuda.nccl, "version", lambda: (0, 0, 0)))
        around.enter_context(replaced(ddp, "__init__", _without_devices(ddp.__init__)))
        around.enter_context(replaced(torch.nn.Module, "to", _module_to(torch.nn.Module.to)))
        around.enter_context(replaced(torch.nn.Module, "cuda", _module_cuda))
        yield


def _without_devices(original: Callable[..., None]) -> Callable[..., None]:
    """DDP's `device_ids` name GPUs, and it checks that the parameters lie there."""

    def init(self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **kw: Any) -> None:
        original(self, module, *((None, None) if is_label() else (device_ids, output_device)), *args, **kw)

    return init


def _module_to(original: Callable[..., Any]) -> Callable[..., Any]:
    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_label():
            args = tuple(map(_cpu_or_index, args))
            kwargs = {name: _cpu_or_index(value) if name == "device" else value for name, value in kwargs.items()}
        return original(self, *args, **kwargs)

    return to


def _module_cuda(self: Any, device: Any = None) -> Any:
    return self.to("cuda")
