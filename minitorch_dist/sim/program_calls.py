"""The functions that a program calls to take part in virtual time. In real time these do no harm."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.sim import device_time, stage
from minitorch_dist.sim.device import Product
from minitorch_dist.sim.power import Power, slowed
from minitorch_dist.tensors.dtypes import get_default_dtype
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from minitorch_dist.tensors.tensor import Tensor
from transports.clock import PICO, Thread, picoseconds
from transports.quantities import span
from transports.virtual.clock import VirtualClock


def compute(duration: str | float = 0.0, *, flops: float | None = None) -> None:
    """Be busy in virtual time. Where time is real it passes by itself while one computes: there this does nothing.

    Args:
        duration: "3ms", or seconds.
        flops: So many operations instead, at the rate that `run(flops=…)` or the device has.

    Example:
        >>> sim.run(lambda: sim.compute("3ms"), 2, speeds={1: 0.5}).time
        6000000000
    """
    place = world.place()
    clock, recorder = place.clock, None if place.world is None else place.world.mailbox.recorder
    since = 0 if recorder is None else recorder.now()
    if isinstance(clock, VirtualClock):
        picos = span(duration) if isinstance(duration, str) else picoseconds(duration)
        devices = device_time.of(clock)
        if flops is not None:
            picos += _time_of(flops, clock, devices)
        if devices is not None:
            devices.streams[clock.me().rank].compute("sim.compute", picos)
            return
        picos = slowed(clock, picos)
        if picos:  # no time at all is no look round either: many of those would be a deadlock
            clock.pause(picos)
    if recorder is not None:
        recorder.computed(since, callsite())


def value(tensor: Tensor, default: Any) -> Any:
    """The number of a tensor of one element, or the nested list of its numbers, also where a run has shapes only.

    Args:
        tensor: The tensor.
        default: The value where there are no numbers (see `shapes` of `sim.run`).

    Returns:
        The number, the list, or the default.

    Example:
        >>> sim.run(lambda: sim.value(torch.ones(1) * 5, 1.0), 1, shapes=True).results
        [1.0]
    """
    if not has_numbers(tensor.array):
        return default
    return tensor.item() if tensor.array.size == 1 else tensor.tolist()


def _time_of(flops: float, clock: VirtualClock, devices: device_time.DeviceTime | None) -> int:
    """Picoseconds for so many operations: as `flops=` of the run says, else by the peak of the rank's device."""
    power: Power = clock.power or Power(None, {})
    if power.flops is None and devices is not None:
        stream, dtype = devices.streams[clock.me().rank], get_default_dtype().name
        stream.flops[dtype] = stream.flops.get(dtype, 0) + round(flops)
        return stream.device.time(0, dtype, [Product(round(flops))])
    return power.of(flops)


def now() -> float:
    """Seconds, since some instant, of the time in which this rank lives."""
    here = world.place()
    if here.world is not None and here.world.trace is not None:
        here.world.trace.asks_time(sys._getframe(1))
    return here.clock.now() / PICO


def mark(name: str) -> None:
    """Note the instant at which this rank comes here: `report.ranks[3].marks`. In real time this does nothing.

    Args:
        name: The name of the note.

    Example:
        >>> def program():
        ...     sim.compute("1us")
        ...     sim.mark("step 1")
        >>> sim.run(program, 1).ranks[0].marks
        (('step 1', 1000000),)
    """
    here, place = stage.here(), world.place()
    if place.world is not None and place.world.trace is not None:
        place.world.trace.marks(name)
    elif here is not None:
        here.marks.setdefault(place.given["rank"], []).append((name, place.clock.now()))


def start(function: Callable[[], None], name: str = "helper") -> Thread:
    """Run a function beside the caller, as part of its rank; it is ended with it. In real time this is a thread.

    Args:
        function: Called without arguments.
        name: Its name in reports.

    Returns:
        The thread, which can be joined.

    Example:
        >>> def program():
        ...     found = []
        ...     helper = sim.start(lambda: found.append(dist.get_rank()))
        ...     helper.join()
        ...     return found
        >>> sim.run(program, 2).results
        [[0], [1]]
    """
    return world.current().start(function, name)


def restarts() -> int:
    """How often this rank was killed and started again.

    Returns:
        The number; 0 at first.

    Example:
        >>> sim.run(sim.restarts, 2).results
        [0, 0]
    """
    here = stage.here()
    return 0 if here is None else here.restarts.get(world.place().given["rank"], 0)


def sometimes(name: str, condition: object) -> bool:
    """Say that this should be true at least once over all seeds: that a retry was needed, that a
    buffer was full. `explore` warns where it never was, since then nothing was tested.

    Args:
        name: The name of the claim.
        condition: Whether it is true now.

    Returns:
        Whether it is true now.

    Example:
        >>> sim.sometimes("a message was late", 3 > 2)
        True
    """
    here = stage.here()
    if here is not None:
        here.sometimes[name] = bool(condition) or here.sometimes.get(name, False)
    return bool(condition)
