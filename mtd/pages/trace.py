"""Chrome's trace format, for ui.perfetto.dev and chrome://tracing: JSON, capped.

A process (pid) is a node, a thread (tid) a rank; spans are complete events (X), messages are flows
from sender to receiver (s, f), memory and bytes on their way are counters (C).
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
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
    wanted = 0
    kept: list[dict[str, Any]] = []
    for event in _events(scene, per_node or max(len(scene.lanes), 1)):
        wanted += 1
        if len(kept) < most:
            kept.append(event)
    stated: dict[str, Any] = {
        "title": scene.title, "cap": most, "events": wanted, "left out": wanted - len(kept),
    }  # fmt: skip
    if scene.note:
        stated["note"] = scene.note
    return json.dumps(
        {"displayTimeUnit": "ns", "otherData": stated, "traceEvents": kept},
        ensure_ascii=False, separators=(",", ":"),
    )  # fmt: skip


def _events(scene: Scene, per_node: int) -> Iterator[dict[str, Any]]:
    """Names first, then by time, so that a cap leaves out the end and not a kind."""
    yield from _names(scene, per_node)
    timed = [
        *(_span(span, per_node) for span in scene.spans),
        *_messages(scene, per_node), *_counters(scene, per_node),
    ]  # fmt: skip
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
        "ph": "X", "name": (span.kind in NAMED and span.name) or span.kind, "cat": span.kind,
        "pid": span.lane // per_node, "tid": span.lane + (WORKER if span.is_beside else 0),
        "ts": span.start / PER_MICROSECOND, "dur": (span.end - span.start) / PER_MICROSECOND,
        "args": {"what": span.text, "group": span.group},
    }  # fmt: skip


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
        change for arrow in scene.arrows if arrow.nbytes
        for change in ((arrow.departed, arrow.nbytes), (arrow.arrived, -arrow.nbytes))
    )  # fmt: skip
    total = 0
    for at, change in changes:
        total += change
        yield {
            "ph": "C", "name": "bytes on their way", "pid": 0, "ts": at / PER_MICROSECOND,
            "args": {"bytes": total},
        }  # fmt: skip
    for lane, samples in scene.memory.items():
        for at, held in islice(samples, MOST):
            yield {
                "ph": "C", "name": f"{scene.lanes[lane]}: {scene.memory_is}",
                "pid": lane // per_node, "ts": at / PER_MICROSECOND, "args": {"bytes": held},
            }  # fmt: skip
