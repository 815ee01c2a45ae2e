"""A trace as a program: each rank does its nodes on another simulated network.

Computing takes the time that the trace says. Collectives and messages take that of the new network, by our own schedules.
A rank has one stream for computing, in the order of the nodes. Collectives move beside it, and what comes after one waits
for it. Collectives of one group are called in the order of their nodes, so all its ranks must name them in one order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

import minitorch_dist as torch
from minitorch_dist import distributed as dist
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.work import Work
from minitorch_dist.sim import program_calls
from minitorch_dist.sim.report import Report
from minitorch_dist.sim.runner import run
from minitorch_dist.tensors.tensor import Tensor
from mtd.traces.chakra import NodeKind, TraceNode
from mtd.traces.protobuf import TraceError
from transports.clock import PICO

MOST_RANKS: Final = 100_000


def run_trace(ranks: Sequence[Sequence[TraceNode]], **options: Any) -> Report[Any]:
    """Run the nodes of each rank. `options` are those of `sim.run`, such as net= and timelines=."""
    if not 0 < len(ranks) <= MOST_RANKS:
        raise TraceError(f"a trace has 1 to {MOST_RANKS} ranks, not {len(ranks)}")
    ordered = [in_order(nodes) for nodes in ranks]
    groups = _groups(ordered)
    return run(_rank, len(ranks), (ordered, groups), **{"shapes": True, **options})


def in_order(nodes: Sequence[TraceNode]) -> list[TraceNode]:
    """Each after what it names; else as they stand. TraceError for a circle."""
    place = {node.number: number for number, node in enumerate(nodes)}
    after = {place[one.number]: [place[number] for number in one.after if number in place] for one in nodes}
    graph = TopologicalSorter(after)
    try:
        graph.prepare()
    except CycleError as error:
        stuck = nodes[error.args[1][0]]
        raise TraceError(f"node {stuck.number} ({stuck.name}) comes after itself") from None
    found, ready = list[TraceNode](), [*graph.get_ready()]
    heapq.heapify(ready)
    while ready:
        found.append(nodes[first := heapq.heappop(ready)])
        graph.done(first)
        for each in graph.get_ready():
            heapq.heappush(ready, each)
    return found


def _groups(ranks: Sequence[Sequence[TraceNode]]) -> list[tuple[int, ...]]:
    """All groups that are named, checked."""
    found: set[tuple[int, ...]] = set()
    for rank, nodes in enumerate(ranks):
        for node in nodes:
            wrong = _wrong(node, rank, len(ranks))
            if wrong:
                raise TraceError(f"rank {rank}, node {node.number} ({node.name}): {wrong}")
            found |= {node.group} if node.kind == NodeKind.COLLECTIVE and node.group else set()
    return sorted(found)


def _wrong(node: TraceNode, rank: int, size: int) -> str:
    """The reason why a node names ranks that it cannot mean; nothing if there is none."""
    if node.kind in (NodeKind.SEND, NodeKind.RECEIVE) and not 0 <= node.peer < size:
        return f"there is no rank {node.peer} of {size}"
    if node.kind != NodeKind.COLLECTIVE or not node.group:
        return ""
    if rank not in node.group or not all(0 <= each < size for each in node.group):
        return f"its group {node.group[:8]} is not one of {size} ranks with rank {rank} in it"
    return "its group names a rank twice" if len(set(node.group)) < len(node.group) else ""


def _rank(ranks: Sequence[Sequence[TraceNode]], groups: Sequence[tuple[int, ...]]) -> None:
    whole = tuple(range(len(ranks)))
    made: dict[tuple[int, ...], ProcessGroup | None] = {whole: None, (): None}
    for group in groups:
        if group not in made:
            made[group] = dist.new_group(list(group))
    works: dict[int, Work | None] = {}
    nodes = {node.number: node for node in ranks[dist.get_rank()]}
    for node in nodes.values():
        with _named(node):
            _do(node, works, made, len(whole))
    for number, work in works.items():
        with _named(nodes[number]):
            if work is not None:
                work.wait()


@contextmanager
def _named(node: TraceNode) -> Iterator[None]:
    """An error in here tells the node, for a trace has no lines of a program."""
    try:
        yield
    except Exception as error:
        rank = dist.get_rank()
        error.add_note(f"in node {node.number} ({node.name}) of the trace of rank {rank}")
        raise


def _do(
    node: TraceNode, works: dict[int, Work | None], groups: dict[tuple[int, ...], ProcessGroup | None], world: int
) -> None:
    """Begin it, once what it comes after is over."""
    for number in node.after:
        work = works.pop(number, None)
        if work is not None:
            work.wait()
    if node.kind == NodeKind.COMPUTE:
        program_calls.compute(node.duration / PICO)
    elif node.kind == NodeKind.COLLECTIVE:
        size = len(node.group) or world
        works[node.number] = _begun(node, groups[node.group], size)
    elif node.kind == NodeKind.SEND:
        works[node.number] = dist.isend(_bytes(node.nbytes), node.peer, tag=node.tag)
    else:
        works[node.number] = dist.irecv(_bytes(node.nbytes), node.peer, tag=node.tag)


def _begun(node: TraceNode, group: ProcessGroup | None, size: int) -> Any:
    """Begin a collective whose whole vector, or each rank's part of it, has so many bytes."""
    name, x = node.collective, _bytes(node.nbytes)
    first = node.group[0] if node.group else 0
    beside: dict[str, Any] = {"group": group, "async_op": True}
    if name == "all_gather":
        return dist.all_gather_into_tensor(_bytes(node.nbytes * size), x, **beside)
    if name in ("reduce_scatter", "reduce_scatter_block"):
        whole = _bytes(max(node.nbytes, 1) * size)
        return dist.reduce_scatter_tensor(_bytes(max(node.nbytes, 1)), whole, **beside)
    if name == "all_to_all":
        part = _bytes(-(-node.nbytes // size) * size)
        return dist.all_to_all_single(torch.empty_like(part), part, **beside)
    if name == "barrier":
        return dist.barrier(**beside)
    if name in ("broadcast", "reduce"):
        return getattr(dist, name)(x, first, **beside)
    if name in ("gather", "scatter"):
        parts = [torch.empty_like(x) for _ in range(size)] if dist.get_rank() == first else None
        return getattr(dist, name)(x, parts, first, **beside)
    return dist.all_reduce(x, **beside)


def _bytes(count: int) -> Tensor:
    return torch.empty(count, dtype=torch.uint8)
