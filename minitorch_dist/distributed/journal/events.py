"""One line of a journal: something that a rank did, with a name that is the same in every world.

    {"what": "send", "rank": 0, "group": "default_pg", "seq": 5, "step": 1, "nth": 0, "to": 1,
     "bytes": 40, "at": 1200, "until": 1300}

An event is known by (rank, group, seq, step, nth, peer), never by its time: the same program has the
same events over tcp and in a simulation. `at` and `until` are the clock's picoseconds.

    what       is                                                        its own words
    world      a rank is there                                           see `recording`
    issue      an operation or an isend was asked for, to be done beside
    begin end  an operation of a group: seq counts them                  op dtype shape reduce root …
    send       a message left: step of the schedule, nth of that step    to bytes
    receive    the rank had it (`until`), which `arrived` earlier        from bytes
    post       irecv or recv asked for it; p2p has a tag and no seq      from tag
    wait       nothing to do but to wait: for a rank, or for an operation
    compute    `sim.compute`, or an operation of a device that takes time     op
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed.mail import wire
from transports.plain_text import clean

VERSION: Final = 1
KINDS: Final = ("issue", "begin", "end", "send", "post", "receive", "wait", "compute")
DEEDS: Final = {"issue": "asks for", "begin": "begins", "end": "ends"}
POINT_TO_POINT: Final = -1  # the sequence number of what has none
MAX_RANK: Final = 1 << 24
MOST: Final = 1 << 80  # of any number; as picoseconds these are 38,000 years


class JournalError(ValueError):
    """This is not a journal, or not one that can be read."""

    def __str__(self) -> str:
        return clean(super().__str__())


class Event(NamedTuple):
    """See the module's table. A field that a kind does not use is empty, or -1."""

    what: str
    rank: int
    at: int
    until: int
    group: str = ""
    sequence: int = POINT_TO_POINT
    step: int = 0  # of p2p: the tag
    nth: int = 0  # among the messages that match alike
    peer: int = -1
    nbytes: int = 0
    arrived: int = -1
    beside: bool = False  # carried out by a worker, while the program went on
    operation: str = ""
    dtype: str = ""
    shape: tuple[int, ...] | None = None
    reduce: str = ""
    root: int = -1
    algorithm: str = ""
    site: str = ""
    error: str = ""
    memory: int = -1  # bytes that the rank's simulated device holds

    @property
    def is_point_to_point(self) -> bool:
        return self.sequence == POINT_TO_POINT and self.what != "compute"

    @property
    def is_gate(self) -> bool:
        """An empty message that only asks for a large one."""
        return self.step >= wire.GATE and self.sequence >= 0

    @property
    def message(self) -> tuple[Any, ...]:
        """The values that a send and its receive have in common, and no other event has."""
        src, dst = (self.rank, self.peer) if self.what == "send" else (self.peer, self.rank)
        return src, dst, self.group, self.sequence, self.step, self.nth

    @property
    def content(self) -> tuple[Any, ...]:
        """All of it that is the same over every transport."""
        failed = self.error.partition(":")[0]
        return (
            self.what, self.rank, self.group, self.sequence, self.step, self.nth, self.peer,
            self.nbytes, self.operation, self.dtype, self.shape, self.reduce, self.root,
            self.algorithm, failed,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """`all_reduce #5 (float32[10], SUM)`"""
        if self.what == "compute":
            return "compute"
        number = self.sequence if self.sequence >= 0 else wire.POINT_TO_POINT
        dtype: Any = self.dtype or None
        said = wire.Fingerprint(self.operation or "operation", dtype, self.shape, self.reduce or "none", self.root)
        return wire.describe(said, number, 0, "")

    @property
    def where(self) -> str:
        """` in group 'default_pg' at train.py:41`"""
        group = f" of group {self.group!r}" if self.group else ""
        return f"{group}{f' at {self.site}' if self.site else ''}"

    def __str__(self) -> str:
        """In words: `rank 0 sends 40 bytes to rank 1 in all_reduce #5 of group … at train.py:41`"""
        return f"rank {self.rank} {self._deed()}{self.where}{f': {self.error}' if self.error else ''}"

    def _deed(self) -> str:
        what = self.what
        if what == "compute":
            return f"computes {self.operation}".rstrip()
        if what in DEEDS:
            return f"{'fails in' if what == 'end' and self.error else DEEDS[what]} {self.name}"
        tag = f" with tag {self.step}" if self.sequence < 0 and self.step else ""
        peer = "anybody" if self.peer < 0 else f"rank {self.peer}"
        if what == "post":
            return f"is ready to receive from {peer}{tag}"
        if what == "wait" and self.peer < 0 and self.operation:
            return f"waits for {self.name}"
        within = f" in {self.name}" if self.sequence >= 0 else tag
        if what == "wait":
            return f"waits for {peer}{within}"
        amount = "a request" if self.is_gate else f"{self.nbytes} bytes"
        return (
            f"{'sends' if what == 'send' else 'receives'} {amount} {'to' if what == 'send' else 'from'} {peer}{within}"
        )


# ------------------------------------------------------------------------------------------ reading

_INTEGERS: Final = {
    "at": "at", "until": "until", "seq": "sequence", "step": "step", "tag": "step", "nth": "nth",
    "to": "peer", "from": "peer", "bytes": "nbytes", "arrived": "arrived", "root": "root",
    "memory": "memory",
}  # fmt: skip
_COUNTS: Final = ("step", "tag", "nth")  # which are not negative
_TEXTS: Final = {"op": "operation"} | {
    word: word for word in ("group", "dtype", "reduce", "algorithm", "site", "error")
}


def parse(line: dict[str, Any], offsets: Mapping[int, int]) -> Event:
    """An event of a decoded line; JournalError if it is none. Its rank's offset is added to its
    instants."""
    what, rank = line.get("what"), line.get("rank")
    if what not in KINDS or type(rank) is not int or not 0 <= rank < MAX_RANK:
        raise JournalError(f"there is no event with what={what!r} and rank={rank!r}")
    found: dict[str, Any] = {}
    _collect(line, _INTEGERS, int, found)
    _collect(line, _TEXTS, str, found)
    shape = line.get("shape")
    if isinstance(shape, list) and all(type(extent) is int for extent in shape):
        found["shape"] = tuple(shape)
    elif shape is not None:
        raise JournalError(f"shape={shape!r} is not a list of numbers")
    if "at" not in found:
        raise JournalError(f"this {what} has no time")
    peer = found.get("peer", -1)
    is_from_anybody = peer == -1 and "error" in found  # a receive that failed before a message came
    if what in ("send", "receive") and not 0 <= peer < MAX_RANK and not is_from_anybody:
        raise JournalError(f"this {what} names no rank at its other end")
    found.setdefault("until", found["at"])
    for instant in ("at", "until", "arrived"):
        if instant in found:
            found[instant] += offsets.get(rank, 0)
            _bound(instant, found[instant])
    return Event(what, rank, beside=line.get("beside") is True, **found)


def _collect(line: dict[str, Any], names: dict[str, str], kind: type, found: dict[str, Any]) -> None:
    for word, name in names.items():
        value = line.get(word)
        if type(value) is kind:
            if isinstance(value, int):
                _bound(word, value)
            found[name] = clean(value, lines=False) if isinstance(value, str) else value
        elif value is not None:
            raise JournalError(f"{word}={value!r} should be {kind.__name__}")


def _bound(word: str, value: int) -> None:
    """JournalError if a number is beyond what can be counted, drawn or printed."""
    if not -MOST <= value <= MOST or (value < 0 and word in _COUNTS):
        raise JournalError(f"{word}={value!r:.80} is out of all bounds")
