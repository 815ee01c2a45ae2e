"""This machine as a device that takes time: products, copies and small operations, measured and fitted.

    products of several sizes   ──► the peak of a dtype, and the efficiency's `half`
    copies of a large array     ──► the bandwidth
    operations on one element   ──► what a launch takes (here: Python and numpy)

A product takes launch + FLOP / (peak · s / (s + half)), as `device` says. Divided by FLOP this is a line in 1 / s:
its height is 1 / peak, and its slope half / peak. The line is the one of least relative errors. All operations are
those of this package, in this thread, so the launch holds what they cost around numpy.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import matmul
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final, NamedTuple

import numpy as np

import minitorch_dist as torch
from minitorch_dist.sim.device import Device
from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.autograd import grad_modes
from mtd.pages import whole_files
from transports.clock import PICO, SYSTEM

SIZES: Final = (16, 32, 64, 128, 256, 512)
DTYPES: Final = ("float32", "float64")
COPIED: Final = 1 << 25  # bytes: more than caches hold
REPEATS: Final = 7


class Curve(NamedTuple):
    """A peak in FLOP/s, and the size at which half of it is reached."""

    peak: float
    half: float


def fit(times: Mapping[int, float], launch: float) -> Curve:
    """From seconds of products of square matrices, by size. `launch`: the part that is not the product's."""
    if len(times) < 2:
        raise ValueError(f"a curve needs products of two sizes at least, not of {len(times)}")
    sizes = np.array(sorted(times), float)
    spans = np.array([max(times[int(size)] - launch, times[int(size)] / 100) for size in sizes])
    per_flop = spans / (2 * sizes**3)
    # per_flop = (1 + half / size) / peak, each equation divided by its left side
    unknown = np.stack([1 / per_flop, 1 / (sizes * per_flop)], axis=1)
    height, slope = np.linalg.lstsq(unknown, np.ones(len(sizes)), rcond=None)[0]
    if slope < 0:  # larger ones are no faster: then the peak alone is fitted
        height, slope = 1 / np.mean(1 / per_flop), 0.0
    if height <= 0:  # no peak in sight
        height, slope = float(per_flop.min()), 0.0
    return Curve(float(1 / height), float(slope / height))


def measure(sizes: Sequence[int] = SIZES, repeats: int = REPEATS, copied: int = COPIED) -> Device:
    """This machine, with one thread of its own. It takes some seconds."""
    with grad_modes.no_grad():
        one = torch.ones(1)
        launch = _seconds(lambda: one + one, repeats, 200)
        source, target = torch.ones(copied // 4), torch.ones(copied // 4)
        spent = _seconds(lambda: target.copy_(source), repeats, 1)
        curves = {}
        for name in DTYPES:
            times = {}
            for size in sizes:
                x = torch.ones(size, size, dtype=dtypes.by_name(name))
                times[size] = _seconds(partial(matmul, x, x), repeats, max(1, (256 // size) ** 2))
            curves[name] = fit(times, launch)
    half = float(np.mean([curve.half for curve in curves.values()]))
    measured = f"measured on this machine ({platform.machine()}), {repeats} times"
    return Device(
        "this CPU",
        peak={name: curve.peak for name, curve in curves.items()},
        bandwidth=2 * copied / max(spent - launch, spent / 100),
        launch=round(launch * PICO),
        half=half,
        fitted=f"{len(DTYPES) * len(sizes)} products of square matrices on this machine",
        sources=dict.fromkeys(("peak", "bandwidth", "launch", "half"), measured),
    )


def mean(devices: Sequence[Device]) -> Device:
    """One device from several measurements: each number is the mean of theirs."""
    first = devices[0]
    return replace(
        first,
        peak={name: fmean(each.peak[name] for each in devices) for name in first.peak},
        bandwidth=fmean(each.bandwidth for each in devices),
        launch=round(fmean(each.launch for each in devices)),
        half=fmean(each.half for each in devices),
    )


def _seconds(function: Callable[[], Any], repeats: int, within: int) -> float:
    """Of one call: the median of several measurements of `within` calls, after one that does not count."""
    function()
    found = []
    for _ in range(repeats):
        began = SYSTEM.now()
        for _ in range(within):
            function()
        found.append((SYSTEM.now() - began) / PICO / within)
    return max(median(found), 1e-12)


def save(device: Device, path: str | Path) -> None:
    """Write a device to a file that `sim.gpu` reads."""
    words = {name: getattr(device, name) for name in ("launch", "top", "half", "contention", "fitted", "memory")}
    words = {
        "bandwidth": round(device.bandwidth),
        **{name: value for name, value in words.items() if value is not None},
    }
    lines = [f"[{json.dumps(device.name)}]"]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in words.items()]
    for part, table in (("peak", device.peak), ("sources", device.sources)):
        lines += ["", f"[{json.dumps(device.name)}.{part}]"]
        lines += [f"{key} = {json.dumps(v, ensure_ascii=False)}" for key, v in table.items()]
    whole_files.write(path, "\n".join(lines) + "\n")
