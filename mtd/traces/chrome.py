"""Chrome's and Perfetto's traces as JSON (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).

Read are complete events (`"ph": "X"`). Each pair of a process and a thread is a line of its own. `Report.save_trace`
and torch's profiler write such files, packed with gzip or not.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from minitorch_dist.pictures.scene import COMPUTE, OPERATION, TRANSFER, WAIT, LaneSpan, Scene
from mtd.traces.protobuf import TraceError

Where = tuple[str, str]  # a process and a thread
PER_MICROSECOND: Final = 10**6
LARGEST: Final = 1 << 30  # bytes of JSON
PIECE: Final = 1 << 20
LONGEST: Final = 1e15  # microseconds


def read_chrome(path: str | PathLike[str]) -> Scene:
    """A trace as a scene, which `pictures` draw; TraceError for what is none."""
    try:
        packed = Path(path).read_bytes()
        limit = zlib.decompressobj(wbits=31)  # of gzip's form
        data = limit.decompress(packed, LARGEST + 1) if packed[:2] == b"\x1f\x8b" else packed
        if len(data) > LARGEST:
            raise TraceError(f"{path} has more than {LARGEST} bytes")
        return parsed(json.loads(data), Path(path).name)
    except FileNotFoundError:
        raise TraceError(f"there is no file {path}") from None
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise TraceError(f"{path} is not a trace of Chrome: {error}") from None


def parsed(tree: Any, title: str = "") -> Scene:
    """A trace whose JSON is at hand."""
    events = tree.get("traceEvents") if isinstance(tree, dict) else tree
    if not isinstance(events, list):
        raise TraceError("there is no list of traceEvents")
    names: dict[Where, str] = {}
    spans: list[tuple[Where, LaneSpan]] = []
    for number, event in enumerate(events):
        if not isinstance(event, dict):
            raise TraceError(f"event {number} is no object")
        where = str(event.get("pid", "")), str(event.get("tid", ""))
        given = event.get("args")
        words: dict[str, Any] = given if isinstance(given, dict) else {}
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            names[where] = str(words.get("name", ""))
        elif event.get("ph") == "X":
            spans.append((where, _span(event, words, number)))
    if not spans:
        raise TraceError('there is no span in it: none of its events has "ph": "X"')
    first = min(span.start for _, span in spans)
    lanes = sorted(dict.fromkeys(where for where, _ in sorted(spans, key=lambda one: one[1].start)), key=_by_number)
    place = {where: number for number, where in enumerate(lanes)}
    found = [span._replace(lane=place[where], start=span.start - first, end=span.end - first) for where, span in spans]
    titles = [names.get(where) or f"{where[0]}/{where[1]}" for where in lanes]
    return Scene(title, titles, sorted(found, key=lambda span: (span.start, -span.end)))


def _span(event: dict[str, Any], words: dict[str, Any], number: int) -> LaneSpan:
    """On no lane yet."""
    start, length = _picos(event, "ts", number), _picos({"dur": 0, **event}, "dur", number)
    name, cat = str(event.get("name", "")), str(event.get("cat", ""))
    kind = cat if cat in (OPERATION, WAIT, TRANSFER) else COMPUTE
    return LaneSpan(0, start, start + max(length, 0), kind, name, "", str(words.get("what", "")) or name)


def _picos(event: dict[str, Any], word: str, number: int) -> int:
    value = event.get(word)
    if isinstance(value, str):  # some write numbers as texts
        try:
            value = float(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LONGEST <= value <= LONGEST:
        raise TraceError(f"event {number}: {word}={event.get(word)!r:.40} is no time")
    return round(value * PER_MICROSECOND)


def _by_number(where: Sequence[str]) -> tuple[Any, ...]:
    return tuple((not part.isdecimal(), int(part[:18]) if part.isdecimal() else 0, part) for part in where)
