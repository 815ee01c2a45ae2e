"""The questions that a program for GPUs asks, and what its rank hears once `cuda` is a label (see `cuda_labels`).

    torch.cuda.is_available, torch.accelerator …   there is a GPU for each rank of the run
    torch.cuda.max_memory_allocated, …             of the device that the run has (device=), as its ledger has it
    torch.autocast("cuda"), GradScaler             those of the CPU
    DeviceMesh("cuda"), torch.load(map_location=…) on the CPU
    torch.cuda.Event, Stream, Tensor.pin_memory    times of the rank's clock; nothing

Torch itself hears the truth: its own modules would take ways that only a GPU can go.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, Final

import torch
from torch.amp.autocast_mode import autocast
from torch.amp.grad_scaler import GradScaler
from torch.distributed import distributed_c10d as c10d
from torch.distributed.device_mesh import DeviceMesh

from minitorch_dist import cuda
from minitorch_dist.distributed import world
from minitorch_dist.pytorch.replacing import replaced
from minitorch_dist.tensors import pools

TORCH: Final = str(Path(torch.__file__).parent)
PICOS: Final = 10**9  # of a millisecond
OF_A_DEVICE: Final = (
    "get_device_capability", "get_device_name", "get_device_properties", "max_memory_allocated", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_reserved", "memory_stats", "memory_summary", "reset_peak_memory_stats",
)  # fmt: skip
GIVEN: Final = "cuda mode"  # what a rank has whose `cuda` is a label


def is_label() -> bool:
    return GIVEN in world.place().given


def cpu(value: Any) -> Any:
    """A device `cuda`, as an object or a text, becomes the CPU; all else stays."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    if isinstance(value, dict):
        return {cpu(one): cpu(other) for one, other in value.items()}
    return "cpu" if isinstance(value, str) and value.partition(":")[0] == "cuda" else value


def count() -> int:
    return int(world.place().given["world_size"])


def current() -> int:
    return int(world.place().given.get("cuda device", 0) or 0)


class LabelEvent:
    """As `torch.cuda.Event`: an instant of the rank's clock."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.at = 0

    def record(self, stream: Any = None) -> None:
        torch.cuda.synchronize()
        self.at = world.place().clock.now()

    def elapsed_time(self, end: LabelEvent) -> float:
        """Milliseconds from here to there."""
        return (end.at - self.at) / PICOS

    def query(self) -> bool:
        return True

    def wait(self, stream: Any = None) -> None:
        """It has happened."""

    synchronize = wait


class LabelStream:
    """As `torch.cuda.Stream`. A rank's device has one, and what was given to it is done in its order."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.cuda_stream = 0

    def wait_stream(self, stream: Any) -> None:
        """It is the same one."""

    wait_event = wait_stream

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def query(self) -> bool:
        return True

    def record_event(self, event: LabelEvent | None = None) -> LabelEvent:
        event = event or LabelEvent()
        event.record()
        return event

    def __enter__(self) -> LabelStream:
        return self

    def __exit__(self, *_: object) -> None:
        """The next one is the same."""


def _on_cuda(check_available: bool = False) -> torch.device:
    return torch.device("cuda")


def _instead() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """The functions that programs call, and what they get while `cuda` is a label."""
    yield torch.cuda, "is_available", lambda: True
    yield torch.cuda, "is_initialized", lambda: True
    yield torch.cuda, "is_bf16_supported", lambda *args: True
    yield torch.cuda, "device_count", count
    yield torch.cuda, "current_stream", LabelStream
    yield torch.cuda, "default_stream", LabelStream
    for name in OF_A_DEVICE:
        yield torch.cuda, name, _if_known(getattr(torch.cuda, name), getattr(cuda, name))
    yield torch.accelerator, "is_available", lambda: True
    yield torch.accelerator, "device_count", count
    yield torch.accelerator, "current_accelerator", _on_cuda
    yield torch.accelerator, "current_device_index", current
    yield torch.accelerator, "current_device_idx", current
    yield torch.accelerator, "set_device_index", lambda device: torch.cuda.set_device(device)
    yield torch.accelerator, "set_device_idx", lambda device: torch.cuda.set_device(device)
    yield torch.accelerator, "synchronize", lambda device=None: torch.cuda.synchronize()
    yield torch.accelerator, "device_index", lambda device: nullcontext()


def _if_known(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Of a run with `device=`, what is known of the rank's device and of its memory; torch's own answer without one. Memory
    changes in the device's order, so the answer waits for what the device has still to do."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        if not pools.count():
            return original(*args, **kwargs)
        torch.cuda.synchronize()
        return ours()

    return answer


@contextmanager
def answered() -> Iterator[None]:
    """For all ranks of a run."""
    with ExitStack() as around:
        for owner, name, ours in _instead():
            around.enter_context(replaced(owner, name, _for_programs(getattr(owner, name), ours)))
        for name, ours in (("Event", LabelEvent), ("Stream", LabelStream)):
            around.enter_context(replaced(torch.cuda, name, ours))  # types: torch asks what is an instance
        for kind in (autocast, GradScaler, DeviceMesh):
            around.enter_context(replaced(kind, "__init__", _with_cpu(kind.__init__)))
        around.enter_context(replaced(torch, "load", _with_cpu(torch.load)))
        begin = _without_device(c10d.init_process_group)
        for module in (c10d, torch.distributed):
            around.enter_context(replaced(module, "init_process_group", begin))
        yield


def _for_programs(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """`ours` where a program calls that is not torch, and `cuda` is a label; the original elsewhere."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        asked_by_torch = sys._getframe(1).f_code.co_filename.startswith(TORCH)
        return (original if asked_by_torch or not is_label() else ours)(*args, **kwargs)

    return answer


def _without_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """`init_process_group`, which would look for the GPU of `device_id`."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if is_label():
            kwargs.pop("device_id", None)
        return function(*args, **kwargs)

    return called


def _with_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which gets the CPU wherever it is given `cuda`."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if is_label():
            args, kwargs = tuple(map(cpu, args)), {name: cpu(value) for name, value in kwargs.items()}
        return function(*args, **kwargs)

    return called
