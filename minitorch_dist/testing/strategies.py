"""Hypothesis strategies: worlds, tensors, schedules, fault plans.

    @given(strategies.worlds(), strategies.vectors())
    def test_…(world, vector): launch(program, world.size, world.transport)

Examples shrink to the plainest: one rank, no elements, a ring, no faults.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from minitorch_dist.distributed.schedules.schedule import BUILT_IN, Schedule
from minitorch_dist.distributed.schedules.steps import Rank, Steps
from minitorch_dist.sim import topologies
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor
from transports.faults import plans
from transports.faults.plans import Fault
from transports.virtual import topology
from transports.virtual.network import Network

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9)
DTYPES = (np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8)


class WorldCase(NamedTuple):
    """Ranks and how they talk; `net` is for `sim.run`, `transport` for `launch`."""

    size: int
    transport: str
    net: Network


# --------------------------------------------------------------------------------------------- worlds


def sizes(largest: int = 9) -> SearchStrategy[int]:
    """Numbers of ranks: 1, odd ones and powers of two alike."""
    return st.integers(1, largest)


def networks(size: int = 8) -> SearchStrategy[Network]:
    """Simulated networks of `size` ranks: uniform, two levels, a mesh; sends eager, bounded or meeting."""
    latency = st.sampled_from(["1us", "5us", "50us", "0s"])
    rate = st.sampled_from(["100Gb/s", "10Gb/s", "1GB/s"])
    links = st.builds(topology.link, latency, rate)
    shapes: list[SearchStrategy[Any]] = [st.builds(topology.uniform, latency, rate)]
    for nodes in range(2, size + 1):
        if size % nodes == 0:
            per = size // nodes
            shapes.append(st.builds(topology.two_level, st.just(nodes), st.just(per), links, links))
            shapes.append(st.builds(topologies.mesh, st.just((nodes, per)), links))
    limits = st.sampled_from([None, 0, 64, 4096])
    return st.builds(Network, st.one_of(shapes), eager=limits, window=st.sampled_from([None, 1, 64]))


@st.composite
def worlds(draw: Any, largest: int = 9, transports: Sequence[str] = ("sim://", "queue://")) -> WorldCase:
    size = draw(sizes(largest))
    return WorldCase(size, draw(st.sampled_from(list(transports))), draw(networks(size)))


# -------------------------------------------------------------------------------------------- tensors


def shapes(max_dims: int = 3, max_side: int = 5) -> SearchStrategy[tuple[int, ...]]:
    """Also no dimension at all, and sides of 0 and 1."""
    return st.lists(st.integers(0, max_side), max_size=max_dims).map(tuple)


@st.composite
def arrays(
    draw: Any,
    shape: SearchStrategy[tuple[int, ...]] | tuple[int, ...] | None = None,
    dtypes: Sequence[Any] = DTYPES,
    contiguous: bool = False,
) -> Array:
    """Small whole numbers, negative ones too, whose sums are exact in each of these dtypes. Ask for
    np.bool_ by `dtypes=`: a sum of bools is a bool, and so no sum of counts.

    Some arrays are transposed, some are every second element of a wider one, some run backwards.
    """
    wanted = draw(shapes()) if shape is None else shape
    extent: tuple[int, ...] = wanted if isinstance(wanted, tuple) else draw(wanted)
    dtype = np.dtype(draw(st.sampled_from(list(dtypes))))
    layouts = ["plain"] + ([] if contiguous or not extent else ["turned", "stepped", "backwards"])
    layout = draw(st.sampled_from(layouts))
    random = np.random.Generator(np.random.PCG64(draw(st.integers(0, 2**32 - 1))))
    low = 0 if dtype.kind in "ub" else -8
    if layout == "turned":
        return random.integers(low, 9, extent[::-1]).astype(dtype).T
    if layout == "stepped":
        return random.integers(low, 9, (*extent[:-1], 2 * extent[-1])).astype(dtype)[..., ::2]
    made = random.integers(low, 9, extent).astype(dtype)
    return made[::-1] if layout == "backwards" else made


def tensors(
    shape: SearchStrategy[tuple[int, ...]] | tuple[int, ...] | None = None, dtypes: Sequence[Any] = DTYPES
) -> SearchStrategy[Any]:
    """Tensors on such arrays; none of them runs backwards, for torch has no such strides."""
    drawn = arrays(shape, dtypes)
    return drawn.map(_forwards).map(lambda array: base.new(Tensor, array))


def _forwards(array: Array) -> Array:
    return array.copy() if any(stride < 0 for stride in array.strides) else array


def counts(size: int) -> SearchStrategy[int]:
    """How many elements to try among `size` ranks: none, one, around `size`, and any."""
    edges = sorted({0, 1, size - 1, size, size + 1, 2 * size + 1})
    return st.one_of(st.sampled_from(edges), st.integers(0, 40))


# ------------------------------------------------------------------------------------------ schedules


@st.composite
def schedules(draw: Any, collective: str = "all_reduce") -> Schedule:
    """Correct ones: those built in and, for all_reduce and broadcast, compositions of others.

    An all_reduce is any reduce_scatter and then any all_gather, or any reduce and any broadcast.
    """
    built_in = [made for (kind, _), made in BUILT_IN.items() if kind == collective]
    ways = ["built in"] + (["two halves", "up and down"] if collective == "all_reduce" else [])
    way = draw(st.sampled_from(ways))
    if way == "built in":
        chosen: Schedule = draw(st.sampled_from(built_in))
        return chosen
    kinds = ("reduce_scatter", "all_gather") if way == "two halves" else ("reduce", "broadcast")
    pairs = [
        (a, b)
        for (kind, _), a in BUILT_IN.items()
        if kind == kinds[0]
        for (other, _), b in BUILT_IN.items()
        if other == kinds[1] and all(a.total(p) == b.total(p) for p in SIZES)
    ]
    first, then = draw(st.sampled_from(pairs))
    name = f"{first.algorithm} then {then.algorithm}"
    return Schedule("all_reduce", name, _one_after_the_other(first, then), first.total)


def _one_after_the_other(first: Schedule, then: Schedule) -> Any:
    def steps(rank: Rank, size: int) -> Steps:
        yield from first(rank, size)
        yield from then(rank, size)

    return steps


# --------------------------------------------------------------------------------------------- faults


@st.composite
def faults(draw: Any, size: int, crashes: bool = False) -> Fault:
    """One fault of a world of `size` ranks. Without `crashes` a reliable transport bears each of them."""
    rank = st.integers(0, size - 1)
    p = st.sampled_from([0.05, 0.2, 1.0])
    late = st.sampled_from(["10us", "1ms", "20ms"])
    ways: list[SearchStrategy[Any]] = [
        st.builds(plans.drop, st.sampled_from([0.05, 0.2]), src=st.none() | rank),
        st.builds(plans.delay, late, p, src=st.none() | rank),
        st.builds(plans.duplicate, p),
        st.builds(plans.reorder, p),
        st.builds(plans.slow, rank, st.sampled_from([2.0, 10.0])),
        st.builds(plans.clog, rank, st.sampled_from(["in", "out", "both"]), until=late),
    ]
    if size > 1:
        split = st.integers(1, size - 1)
        ways.append(st.builds(_partition, split, st.just(size), late))
    if crashes:
        ways.append(st.builds(plans.crash, rank, at=late))
    drawn: Fault = draw(st.one_of(ways))
    return drawn


def _partition(split: int, size: int, heal: str) -> Fault:
    return plans.partition(set(range(split)), set(range(split, size)), heal=heal)


def fault_plans(size: int, max_faults: int = 3, crashes: bool = False) -> SearchStrategy[list[Fault]]:
    """Faults for `sim.run(…, faults=plan)`; the plainest plan is none."""
    return st.lists(faults(size, crashes), max_size=max_faults)
