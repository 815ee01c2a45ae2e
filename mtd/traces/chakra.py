"""Execution traces of MLCommons Chakra, as ASTRA-sim reads them: `name.0.et`, `name.1.et`, … one for each rank.

A file is messages with their lengths before them: one GlobalMetadata, and then Nodes (schema/protobuf/et_def.proto in
github.com/mlcommons/chakra, version 0.0.4). Durations are whole microseconds there. Ours are picoseconds, and stand in an
attribute of their own beside them, so that what we write is what we read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Final

from mtd.pages import whole_files
from mtd.traces import protobuf
from mtd.traces.protobuf import TraceError, bytes_field, number_field, packed_field

VERSION: Final = "0.0.4"
MOST: Final = 1 << 62
PER_MICROSECOND: Final = 10**6


class NodeKind(IntEnum):
    """Those that are understood; nodes of other kinds are read as computing of their duration."""

    COMPUTE = 4
    SEND = 5
    RECEIVE = 6
    COLLECTIVE = 7


FIELDS: Final = {  # of protobuf, for what an attribute holds: an int64, a uint64, a bool
    **dict.fromkeys(("comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag"), 9),
    **dict.fromkeys(("start_picos", "duration_picos"), 13),
    "is_cpu_op": 27,
}
COLLECTIVES: Final = (
    "all_reduce",
    "reduce",
    "all_gather",
    "gather",
    "scatter",
    "broadcast",
    "all_to_all",
    "reduce_scatter",
    "reduce_scatter_block",
    "barrier",
)


@dataclass(frozen=True)
class TraceNode:
    """One thing that a rank does, once what it names in `after` is over. Times in picoseconds."""

    number: int
    name: str
    kind: NodeKind
    after: tuple[int, ...] = ()
    start: int = 0  # when it began in the run that was traced
    duration: int = 0
    collective: str = ""  # of COLLECTIVES
    nbytes: int = 0
    group: tuple[int, ...] = ()  # ranks of a collective; () is the whole world
    peer: int = -1  # of a message
    tag: int = 0


def write_chakra(ranks: Sequence[Sequence[TraceNode]], name: str | PathLike[str]) -> list[Path]:
    """Write `name.0.et` and so on; returns their paths."""
    paths = []
    for rank, nodes in enumerate(ranks):
        path = Path(f"{name}.{rank}.et")
        whole_files.write(path, encoded(rank, nodes))
        paths.append(path)
    return paths


def read_chakra(name: str | PathLike[str]) -> list[list[TraceNode]]:
    """The nodes of each rank; TraceError for what is not a trace."""
    found: list[list[TraceNode]] = []
    while (path := Path(f"{name}.{len(found)}.et")).exists():
        try:
            found.append(decoded(path.read_bytes()))
        except TraceError as error:
            raise TraceError(f"{path}: {error}") from None
    further = _ranks_beside(Path(name))
    if not found or max(further, default=0) > len(found):
        there = f", but there is one of rank {max(further)}" if further else ""
        raise TraceError(f"there is no file {path}{there}; a trace has one for each rank, from 0 on")
    return found


def _ranks_beside(name: Path) -> list[int]:
    """The ranks whose files have this name."""
    endings = (each.name.removeprefix(name.name) for each in name.parent.glob("*.et"))
    return [int(found[1]) for end in endings if (found := re.fullmatch(r"\.(\d{1,9})\.et", end))]


# ------------------------------------------------------------------------------------------ writing


def encoded(rank: int, nodes: Sequence[TraceNode]) -> bytes:
    messages = [bytes_field(1, VERSION), *(_node(rank, node) for node in nodes)]
    return b"".join(protobuf.varint(len(message)) + message for message in messages)


def _node(rank: int, node: TraceNode) -> bytes:
    whole = node.start // PER_MICROSECOND, node.duration // PER_MICROSECOND
    parts = [
        number_field(1, node.number),
        bytes_field(2, node.name),
        number_field(3, node.kind),
        packed_field(5, node.after),
        *map(number_field, (6, 7), whole),
    ]
    numbers = {"is_cpu_op": 0, "start_picos": node.start, "duration_picos": node.duration}
    if node.kind == NodeKind.COLLECTIVE:
        numbers |= {"comm_type": COLLECTIVES.index(node.collective), "comm_size": node.nbytes}
    elif node.kind in (NodeKind.SEND, NodeKind.RECEIVE):
        source, to = (rank, node.peer) if node.kind == NodeKind.SEND else (node.peer, rank)
        numbers |= {"comm_size": node.nbytes, "comm_src": source, "comm_dst": to, "comm_tag": node.tag}
    parts += [_attribute(name, number_field(FIELDS[name], value)) for name, value in numbers.items()]
    if node.kind == NodeKind.COLLECTIVE:
        parts.append(_attribute("pg_ranks", bytes_field(14, packed_field(1, node.group))))
    return b"".join(parts)


def _attribute(name: str, value: bytes) -> bytes:
    return bytes_field(10, bytes_field(1, name) + value)


# ------------------------------------------------------------------------------------------ reading


def decoded(data: bytes) -> list[TraceNode]:
    """The nodes of one rank's file, checked: numbers are their own, and each comes after what it names."""
    if not data:
        raise TraceError("the file is empty")
    _, *messages = _messages(data)  # the first one tells of the whole
    found = [*map(_read_node, messages)]
    numbers = {node.number for node in found}
    if len(numbers) != len(found):
        raise TraceError("two nodes have one number")
    for node in found:
        unknown = [each for each in node.after if each not in numbers]
        if unknown:
            raise TraceError(f"node {node.number} ({node.name}) is after node {unknown[0]}, which is missing")
    return found


def _messages(data: bytes) -> list[bytes]:
    at, found = 0, []
    while at < len(data):
        length, at = protobuf.read_varint(data, at)
        if at + length > len(data):
            raise TraceError(f"a message of {length} bytes begins at byte {at}, but {len(data) - at} are left")
        found.append(data[at : at + length])
        at += length
    return found


def _read_node(data: bytes) -> TraceNode:
    name, after, numbers = "", list[int](), Counter[int]()  # by field
    attributes: dict[str, int | tuple[int, ...]] = {}
    for field, value in protobuf.fields(data):
        if field in (4, 5):
            after += protobuf.packed(value)
        elif field == 10 and isinstance(value, bytes):
            _read_attribute(value, attributes)
        elif field == 2:
            name = protobuf.text(value)
        elif isinstance(value, int):
            numbers[field] = value
    number, kind, start, duration = (numbers[field] for field in (1, 3, 6, 7))

    def whole(word: str, otherwise: int = 0, least: int = 0) -> int:
        found = attributes.get(word, otherwise)
        if not isinstance(found, int) or not least <= found <= MOST:
            raise TraceError(f"node {number} ({name}): {word}={found} cannot be")
        return found

    known = NodeKind(kind) if kind in set(NodeKind) else NodeKind.COMPUTE
    times = whole("start_picos", start * PER_MICROSECOND), whole("duration_picos", duration * PER_MICROSECOND)
    before = tuple(dict.fromkeys(after))
    found = TraceNode(number, name, known, before, *times, nbytes=whole("comm_size"), tag=whole("comm_tag"))
    if known == NodeKind.COLLECTIVE:
        place, ranks = whole("comm_type", -1), attributes.get("pg_ranks", ())
        if place >= len(COLLECTIVES):
            raise TraceError(f"node {number} ({name}): there is no collective with number {place}")
        return replace(found, collective=COLLECTIVES[place], group=ranks if isinstance(ranks, tuple) else ())
    if known in (NodeKind.SEND, NodeKind.RECEIVE):
        return replace(found, peer=whole("comm_dst" if known == NodeKind.SEND else "comm_src", -1))
    return found


def _read_attribute(data: bytes, into: dict[str, int | tuple[int, ...]]) -> None:
    name = ""
    found: int | tuple[int, ...] | None = None
    for field, value in protobuf.fields(data):
        if field == 1:
            name = protobuf.text(value)
        elif isinstance(value, int):
            found = protobuf.signed(value) if field in (7, 9) else value
        elif field in (8, 10, 12, 14):  # lists of whole numbers
            lists = [protobuf.packed(each) for key, each in protobuf.fields(value) if key == 1]
            found = tuple(chain.from_iterable(lists))
    if found is not None:
        into[name] = found
