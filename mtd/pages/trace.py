"""Chrome's trace format, for ui.perfetto.dev and chrome://tracing: JSON, capped.

A process (pid) is a node, a thread (tid) a rank; spans are complete events (X), messages are flows
from sender to receiver (s, f), memory and bytes on their way are counters (C).
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any, Final

from minitorch_dist.pictures.scene import LaneSpan, Scene

MOST: Final = 200_000  # events
MOST_LANES: Final = 10_000
PER_MICROSECOND: Final = 10**6  # picoseconds
NAMED: Final = ("operation", "compute")  # kinds of spans that have names of their own
WORKER: Final = 100_000  # what is added to a rank for what it does beside


def draw(scene: Scene, per_node: int | None = None, most: int = MOST) -> str:
    """The trace as JSON; with `per_node` ranks to a node, else all in one."""
    scene = scene.first_lanes(MOST_LANES)
    events = [*_events(scene, per_node or max(len(scene.lanes), 1))]
    kept = events[:most]
    stated = {"title": scene.title, "cap": most, "events": len(events), "left out": len(events) - len(kept)}
    stated |= {"note": scene.note} if scene.note else {}
    whole = {"displayTimeUnit": "ns", "otherData": stated, "traceEvents": kept}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def _events(scene: Scene, per_node: int) -> Iterator[dict[str, Any]]:
    """Names first, then by time, so that a cap leaves out the end and not a kind."""
    yield from _names(scene, per_node)
    spans = [_span(span, per_node) for span in scene.spans]
    timed = [*spans, *_messages(scene, per_node), *_counters(scene, per_node)]
    yield from sorted(timed, key=lambda event: event["ts"])


def _names(scene: Scene, per_node: int) -> Iterator[dict[str, Any]]:
    beside = {span.lane for span in scene.spans if span.is_beside}
    for lane, name in enumerate(scene.lanes):
        node = lane // per_node
        if lane % per_node == 0:
            yield _meta("process_name", node, 0, f"node {node}")
        yield _meta("thread_name", node, lane, name)
        if lane in beside:
            yield _meta("thread_name", node, lane + WORKER, f"{name}, beside")


def _meta(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _span(span: LaneSpan, per_node: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": (span.kind in NAMED and span.name) or span.kind,
        "cat": span.kind,
        "pid": span.lane // per_node,
        "tid": span.lane + (WORKER if span.is_beside else 0),
        "ts": span.start / PER_MICROSECOND,
        "dur": (span.end - span.start) / PER_MICROSECOND,
        "args": {"what": span.text, "group": span.group},
    }


def _messages(scene: Scene, per_node: int) -> Iterator[dict[str, Any]]:
    for number, arrow in enumerate(scene.arrows):
        flow = {"cat": "message", "name": arrow.name or "message", "id": number}
        here = {"pid": arrow.source // per_node, "tid": arrow.source}
        there = {"pid": arrow.to // per_node, "tid": arrow.to}
        said = {"args": {"what": arrow.text, "bytes": arrow.nbytes}}
        yield {"ph": "s", **flow, **here, "ts": arrow.departed / PER_MICROSECOND, **said}
        if arrow.is_received:
            yield {"ph": "f", "bp": "e", **flow, **there, "ts": arrow.arrived / PER_MICROSECOND}


def _counters(scene: Scene, per_node: int) -> Iterator[dict[str, Any]]:
    changes = sorted(
        change
        for arrow in scene.arrows
        if arrow.nbytes
        for change in ((arrow.departed, arrow.nbytes), (arrow.arrived, -arrow.nbytes))
    )
    for (at, _), total in zip(changes, accumulate(change for _, change in changes), strict=True):
        yield _counter("bytes on their way", 0, at, total)
    for lane, samples in scene.memory.items():
        for at, held in islice(samples, MOST):
            yield _counter(f"{scene.lanes[lane]}: {scene.memory_is}", lane // per_node, at, held)


def _counter(name: str, pid: int, at: int, nbytes: int) -> dict[str, Any]:
    return {"ph": "C", "name": name, "pid": pid, "ts": at / PER_MICROSECOND, "args": {"bytes": nbytes}}
