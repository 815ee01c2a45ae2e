"""Several modules at once, each on its own inputs, in a thread of its own.

With simulated devices these threads share the interpreter and the cores. Only numpy's computations run side
by side. As in torch, the processes of DistributedDataParallel really scale.
"""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from typing import Any

from minitorch_dist.cuda import current
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import TensorBase
from transports.clock import SYSTEM


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """The results of the modules for their inputs. A replica's exception is raised here, as its own type."""
    count = len(modules)
    named = [{}] * count if kwargs_tup is None else list(kwargs_tup)
    places = [None] * count if devices is None else list(devices)
    if {len(inputs), len(named), len(places)} != {count}:
        raise AssertionError(
            f"The number of modules {count} is not equal to the number of inputs {len(inputs)}, of kwargs "
            f"{len(named)} or of devices {len(places)}"
        )
    found: list[Any] = [None] * count
    errors: list[BaseException | None] = [None] * count

    def work(number: int) -> None:
        given = inputs[number]
        place = places[number] if places[number] is not None else _device_of(given)
        try:
            with _on(place):
                args = given if isinstance(given, list | tuple) else (given,)
                found[number] = modules[number](*args, **named[number])
        except BaseException as error:
            errors[number] = error

    threads = []
    for number in range(count):  # gradient mode and its like go along into the thread
        context = contextvars.copy_context()
        threads.append(
            SYSTEM.start(lambda c=context, n=number: c.run(work, n), f"replica {number}")  # type: ignore[misc]
        )
    for thread in threads:
        thread.join()
    for number, error in enumerate(errors):
        if error is not None:
            raise _told(error, f"in replica {number} on device {places[number]}")
    return found


def _told(error: BaseException, where: str) -> BaseException:
    """The error, which says where it happened; of its own type, if that takes a text."""
    text = f"Caught {type(error).__name__} {where}.\n{error}"
    try:
        made = type(error)(text)
    except Exception:
        made = RuntimeError(text)
    made.__cause__ = error
    return made


def _device_of(value: Any) -> Any:
    """The device of the first tensor in a structure."""
    if isinstance(value, TensorBase):
        return value.storage.device
    items = value.values() if isinstance(value, dict) else value
    if isinstance(value, list | tuple | dict):
        for item in items:
            found = _device_of(item)
            if found is not None:
                return found
    return None


def _on(place: Any) -> Any:
    found = None if place is None else devices.resolve(place)
    return current.device(None if found is None or found.type == "cpu" else found)
