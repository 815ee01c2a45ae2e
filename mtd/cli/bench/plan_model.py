"""The model of this machine behind `mtd bench plan`: one core a rank, which computes and moves messages.

    step = computing + messages + copying

    computing   the step in virtual time with links that take no time: products and bytes on the device (`sim.device`),
                and Python's time for each operation, which a step of a tiny model tells
    messages    the step in virtual time with a device that takes no time: α + βm a message and γm to add it, from
                collectives alone
    copying     what a wrapper copies around its collectives, and what is not on the line α + βm: seconds a byte of a
                layer, from steps of thin models

The parts are added, since nothing hides a message here. A thread that copies to a socket or a mapped file needs the core
on which products would run. Two ranks on two cores have no third one. On a machine with two cores a rank or more, the first
two parts are one run, in which messages move beside products.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Final, NamedTuple

import numpy as np

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.launching import launch
from minitorch_dist.sim.device import Device
from mtd import device_calibration
from mtd.cli.bench.steps import MODELS, TINY, ready
from transports.clock import PICO, SYSTEM
from transports.virtual.network import Network
from transports.virtual.topology import Link, Uniform

SIZES: Final = (3 << 8, 3 << 13, 3 << 17, 3 << 19, 3 << 21, 3 << 23)  # bytes gathered
ROWS: Final = (32, 96, 192)  # of the products of layers
WIDTHS: Final = (768, 1536)
TURNS: Final = 15


class WireCosts(NamedTuple):
    """Seconds: of a message, of a byte sent, of a byte added."""

    latency: float
    per_byte: float
    per_added: float


class WrapperCosts(NamedTuple):
    """Of DDP or FSDP over one transport. Seconds: of an operation with Python around it, and of a byte copied, by the
    bytes of a layer."""

    launch: float
    copying: Mapping[int, float]

    def copies(self, layers: Sequence[int]) -> float:
        """Seconds of copying for layers of so many bytes. Between two sizes a line is drawn over their logarithms."""
        sizes = sorted(self.copying)
        return sum(
            nbytes * float(np.interp(np.log(nbytes), np.log(sizes), [self.copying[n] for n in sizes]))
            for nbytes in layers
        )


FREE_WIRE: Final = WireCosts(0.0, 0.0, 0.0)


# ----------------------------------------------------------------------------------- the device


def measure_device() -> Device:
    """On each rank: as `mtd calibrate cpu` does, but products in float32 are those of layers: few rows, and three orders."""
    torch.set_num_threads(1)
    device = device_calibration.measure()
    times = {}
    with torch.no_grad():
        for rows in ROWS:
            spans = [seconds / width**2 for width in WIDTHS for seconds in layer_times(rows, width)]
            times[rows] = statistics.fmean(spans) * rows**2  # as if the product were square
    curve = device_calibration.fit(times, 0.0)
    return replace(device, peak={**device.peak, "float32": curve.peak}, half=curve.half)


def layer_times(rows: int, width: int) -> list[float]:
    """Seconds of a layer's three products: forwards, and backwards to its input and to its weight."""
    x, weight = torch.ones(rows, width), torch.ones(width, width)
    calls = (lambda: x @ weight.T, lambda: x @ weight, lambda: x.T @ x)
    return [statistics.median(_seconds(call) for _ in range(TURNS)) for call in calls]


# ------------------------------------------------------------------------------------- the wire


def measure_wire(address: str, ranks: int) -> WireCosts:
    """From collectives alone, between all ranks at once."""
    if ranks == 1:
        return FREE_WIRE
    found = launch(collective_times, ranks, address)
    worst = {key: max(each[key] for each in found) for key in found[0]}
    return fit_wire(worst, ranks)


def fit_wire(times: Mapping[tuple[str, int], float], ranks: int) -> WireCosts:
    """α and β from all_gather: the line of least relative errors. γ is what reduce_scatter takes longer, a byte added."""
    moved = {n: n * (ranks - 1) / ranks for name, n in times if name == "all_gather"}
    spans = np.array([times["all_gather", n] for n in moved])
    rows = np.stack([np.full(len(moved), ranks - 1.0), np.array(list(moved.values()))], axis=1)
    alpha, beta = np.linalg.lstsq(rows / spans[:, None], np.ones(len(spans)), rcond=None)[0]
    added = [(times["reduce_scatter", n] - times["all_gather", n]) / moved[n] for n in moved]
    return WireCosts(max(alpha, 0.0), max(beta, 0.0), max(float(np.median(added[len(added) // 2 :])), 0.0))


def collective_times() -> dict[tuple[str, int], float]:
    """On each rank: seconds of a collective of so many bytes."""
    size = dist.get_world_size()
    found = {}
    for nbytes in SIZES:
        part = torch.ones(nbytes // 4 // size)
        whole = torch.ones(len(part) * size)
        turns = max(7, min(60, (1 << 24) // nbytes))
        calls: dict[str, Callable[[], object]] = {
            "all_gather": partial(dist.all_gather_into_tensor, whole, part),
            "reduce_scatter": partial(dist.reduce_scatter_tensor, part, whole),
        }
        for name, call in calls.items():
            spans = []
            for _ in range(turns + 2):
                dist.barrier()
                spans.append(_seconds(call))
            found[name, nbytes] = statistics.median(spans[2:])
    return found


def _seconds(call: Callable[[], object]) -> float:
    began = SYSTEM.now()
    call()
    return (SYSTEM.now() - began) / PICO


# ---------------------------------------------------------------------------------- the wrapper


def fit_wrapper(
    way: str, ranks: int, wire: WireCosts, device: Device, steps: Mapping[str, float], plain: Mapping[str, float]
) -> WrapperCosts:
    """From seconds of steps with the wrapper and without it (`plain`): of the tiny model and of thin ones."""
    launch = launch_of(way, ranks, wire, device, steps[TINY])
    alone = launch_of("plain", ranks, FREE_WIRE, device, plain[TINY])
    found = WrapperCosts(launch, {})
    copying = {}
    for model in steps:
        if model != TINY:
            layers = layer_bytes(model)
            added = predicted(model, way, ranks, wire, device, found)
            added -= predicted(model, "plain", ranks, FREE_WIRE, device, WrapperCosts(alone, {}))
            copying[layers[0]] = (steps[model] - plain[model] - added) / sum(layers)
    return WrapperCosts(launch, copying)


def launch_of(way: str, ranks: int, wire: WireCosts, device: Device, tiny: float) -> float:
    """Python's time for an operation: with it the tiny model's step takes as long as it did."""
    none, some = (predicted(TINY, way, ranks, wire, device, WrapperCosts(t, {})) for t in (0.0, 1e-6))
    return max(0.0, (tiny - none) / max((some - none) / 1e-6, 1.0))


@cache
def layer_bytes(model: str) -> list[int]:
    """Bytes of the parameters of each layer that has some."""
    whole = MODELS[model].make(torch)
    found = [sum(p.nbytes for p in layer.parameters()) for layer in whole.children()]
    return [nbytes for nbytes in found if nbytes]


# ------------------------------------------------------------------------------- the prediction


def predicted(model: str, way: str, ranks: int, wire: WireCosts, device: Device, wrapper: WrapperCosts) -> float:
    """Seconds of a step."""
    device = replace(device, launch=round(wrapper.launch * PICO))
    copies = wrapper.copies(layer_bytes(model)) if wrapper.copying else 0.0
    if (os.cpu_count() or 1) >= 2 * ranks:
        return virtual(model, way, ranks, wire, device) + copies
    free = replace(device, peak=dict.fromkeys(device.peak, 1e30), bandwidth=1e30, launch=0)
    computing = virtual(model, way, ranks, FREE_WIRE, device)
    return computing + virtual(model, way, ranks, wire, free) + copies


def virtual(model: str, way: str, ranks: int, wire: WireCosts, device: Device) -> float:
    """Seconds of the third step in virtual time."""
    per_byte = Fraction(wire.per_byte * PICO).limit_denominator(1000)
    report = sim.run(
        virtual_steps,
        ranks,
        (model, way),
        net=Network(Uniform(Link(round(wire.latency * PICO), per_byte))),
        adding=f"{1 / wire.per_added:.0f}B/s" if wire.per_added else None,
        device=device,
        shapes=True,
    )
    return max(times[-1] for times in report.results)


def virtual_steps(model: str, way: str, steps: int = 3) -> list[float]:
    """On each rank: the virtual seconds of each step. The first one still prepares its calls."""
    step, times = ready(torch, model, way).act, []
    for _ in range(steps):
        dist.barrier()
        began = sim.now()
        step()
        times.append(sim.now() - began)
    return times
