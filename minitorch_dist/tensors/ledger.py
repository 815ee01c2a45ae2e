"""Live bytes per simulated device: the categories that hold them now, and that held them at the peak.

The ledger counts the arrays that own memory, not the names that lead to them. An array is entered
when it first appears on a device: a storage is made, a gradient travels, or an operation keeps
something for its backward pass. It is crossed out when numpy frees it. So local variables, closures
and graphs count, and ten views of one array count once.

    storage, gradient ──track──►  entries {id: weak reference, bytes, category, line}
                                       │ numpy frees the array
                                       ▼
                                  freed (a queue: finalizers run anywhere, they only append)
                                       │ settled before every entry and every look
                                       ▼
                                  live, by category, peak

Bytes are those of the arrays: torch's allocator would round each up to 512. Memory that a single
numpy call borrows while it runs is not seen.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock  # noqa: TID251 - guards a few additions; nothing waits in here
from types import CodeType
from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, pools
from minitorch_dist.tensors.ledger_report import CATEGORIES, LiveArray, MemoryWatch, Snapshot, advice
from minitorch_dist.tensors.pools import readable
from minitorch_dist.tensors.storages import root as root

Array = np.ndarray[Any, Any]

_category: ContextVar[str | None] = ContextVar("ledger category", default=None)


@contextmanager
def category(name: str) -> Iterator[None]:
    """Arrays that are made inside the block are entered under `name`."""
    if name not in CATEGORIES:
        raise ValueError(f"no category {name!r}; there are {', '.join(CATEGORIES)}")
    before = _category.set(name)
    try:
        yield
    finally:
        _category.reset(before)


class OutOfMemoryError(RuntimeError):
    """A simulated device's budget is exceeded; the message shows who holds what."""


class LedgerEntry(weakref.ref[Array]):
    """One live array: a weak reference that remembers what the array was."""

    __slots__ = ("category", "code", "key", "line", "nbytes")

    category: str
    code: CodeType | None
    key: int
    line: int
    nbytes: int


class Ledger:
    """The book of one device."""

    def __init__(self, device: devices.device, capacity: int) -> None:
        self.device, self.capacity = device, capacity
        self.budget = capacity  # may be set lower
        self.live = 0
        self.by_category = dict.fromkeys(CATEGORIES, 0)
        self.overall = MemoryWatch()  # since the start, or since `reset_peak`
        self.watches = [self.overall]
        self.entered = self.entered_bytes = self.refused = self.most_arrays = 0  # ever
        self.allocator: Any = None  # told of each array (see `sim.caching_allocator`)
        self._entries: dict[int, LedgerEntry] = {}
        self._freed: deque[LedgerEntry] = deque()
        self._lock = Lock()
        self._mark_peaks()

    def enter(self, array: Array, default: str, depth: int) -> None:
        """Count `array`, an owner of memory, unless it is counted already."""
        with self._lock:
            self._settle()
            key = id(array)
            if key in self._entries or not array.nbytes:
                return
            entry = LedgerEntry(array, self._freed.append)
            entry.key, entry.nbytes = key, array.nbytes
            entry.category = _category.get() or default
            entry.code, entry.line = _caller(depth)
            if self.live + entry.nbytes > self.budget:
                self.refused += 1
            else:
                self._entries[key] = entry
                self.live += entry.nbytes
                self.by_category[entry.category] += entry.nbytes
                self.entered += 1
                self.entered_bytes += entry.nbytes
                self.most_arrays = max(self.most_arrays, len(self._entries))
                if self.allocator is not None:
                    self.allocator.take(key, entry.nbytes)
                self._mark_peaks()
                return
        raise OutOfMemoryError(self._refusal(array, entry))

    def retag(self, array: Array, category: str, only: str | None = None) -> None:
        """Move an entered array to another category (`only`: if it is in that one)."""
        with self._lock:
            self._settle()
            entry = self._entries.get(id(array))
            if entry is None or entry.category == category or (only and entry.category != only):
                return
            self.by_category[entry.category] -= entry.nbytes
            self.by_category[category] += entry.nbytes
            entry.category = category
            self._mark_peaks()

    def leave(self, array: Array) -> str:
        """Cross out `array`, although it is still there: its bytes were given up. Returns its category."""
        with self._lock:
            self._settle()
            entry = self._entries.pop(id(array), None)
            if entry is None:
                return "other"
            self._cross_out(entry)
            return entry.category

    def category_of(self, array: Array) -> str:
        with self._lock:
            entry = self._entries.get(id(root(array)))
            return "other" if entry is None else entry.category

    def change(self, nbytes: Mapping[str, int]) -> None:
        """So many bytes more, or less, in these categories, without arrays: for work that is not carried out."""
        with self._lock:
            self._settle()
            for name, more in nbytes.items():
                self.live += more
                self.by_category[name] += more
            self._mark_peaks()

    def passed(self, nbytes: Mapping[str, int]) -> None:
        """For a moment there were so many bytes more, or less, in these categories."""
        self.change(nbytes)
        self.change({name: -more for name, more in nbytes.items()})

    def _settle(self) -> None:
        """Cross out what was freed since the last look."""
        while self._freed:
            entry = self._freed.popleft()
            if self._entries.get(entry.key) is entry:  # one that was refused never stood there
                del self._entries[entry.key]
                self._cross_out(entry)

    def _cross_out(self, entry: LedgerEntry) -> None:
        self.live -= entry.nbytes
        self.by_category[entry.category] -= entry.nbytes
        if self.allocator is not None:
            self.allocator.give(entry.key)

    def _mark_peaks(self) -> None:
        for watch in self.watches:
            if self.live >= watch.peak:  # at equal heights the latest breakdown counts
                watch.peak = self.live
                watch.by_category = self.by_category.copy()

    def reset_peak(self) -> None:
        with self._lock:
            self._settle()
            self.overall.peak = 0
            self.most_arrays = len(self._entries)
            self._mark_peaks()

    def snapshot(self) -> Snapshot:
        with self._lock:
            self._settle()
            return Snapshot(
                str(self.device),
                self.live,
                dict(self.by_category),
                self.overall.peak,
                dict(self.overall.by_category),
                self.budget,
                len(self._entries),
            )

    def entries(self) -> list[LedgerEntry]:
        with self._lock:
            self._settle()
            return list(self._entries.values())

    def held(self) -> list[LiveArray]:
        """All live arrays, the largest first."""
        with self._lock:
            self._settle()
            live = [(e, array) for e in self._entries.values() if (array := e()) is not None]
        found = [LiveArray(e.nbytes, e.category, a.shape, str(a.dtype), _place(e)) for e, a in live]
        return sorted(found, key=lambda h: -h.nbytes)

    def _refusal(self, array: Array, entry: LedgerEntry) -> str:
        kind = f"{array.dtype}[{','.join(map(str, array.shape))}]"
        now = self.snapshot()
        largest = "".join(f"\n  {held}" for held in self.held()[:8])
        return (
            f"CUDA out of memory. Tried to allocate {readable(entry.nbytes)} on {self.device} "
            f"({entry.category}, {kind}, {_place(entry)}). The device has a total capacity of "
            f"{readable(self.budget)}, of which {readable(self.budget - now.live)} is free "
            f"({entry.nbytes:,} bytes asked, {now.live:,} of {self.budget:,} in use).\n"
            f"{now}\nLargest:{largest}\n{advice(now, entry.category, entry.nbytes)}"
        )


# ----------------------------------------------------------------------- what the ground floor calls


def track(array: Array, device: devices.device, default: str = "other", depth: int = 2) -> None:
    """Enter the memory under `array` on `device`, until it is freed."""
    book = _book(device)
    if book is not None:
        book.enter(root(array), default, depth + 1)


def track_all(arrays: Iterable[Any], device: devices.device, default: str) -> None:
    """Enter those of `arrays` that are arrays (a gradient may be None, or a numpy scalar)."""
    for array in arrays:
        if isinstance(array, np.ndarray) and not getattr(array, "is_scalar", False):
            track(array, device, default, depth=3)


def retag(array: Array, device: devices.device, category: str, only: str | None = None) -> None:
    """The memory under `array` turns out to be a parameter, a gradient …"""
    book = _book(device)
    if book is not None:
        book.retag(root(array), category, only)


def forget(array: Array, device: devices.device) -> str:
    """The memory under `array` was given up before it is freed: see `Storage.resize_`. Returns its category."""
    book = _book(device)
    return "other" if book is None else book.leave(root(array))


def _book(device: devices.device) -> Ledger | None:
    """The ledger of a simulated device; None for labels that outlived their pool."""
    index = device.index
    pool = pools.pool()
    if pool is None or index is None or index >= pool.count:
        return None
    book = pool.ledgers.get(index)
    if book is None:
        book = pool.ledgers.setdefault(index, Ledger(device, pool.capacity))
    return book  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------ what people look at


def of(device: devices.device | str | int | None = None) -> Ledger:
    """The ledger of a device (by default the current one). Raises where the device does not exist."""
    found = devices.resolve("cuda" if device is None else device)
    book = _book(found)
    if book is None:
        raise ValueError(f"only simulated devices keep a ledger, not '{found}'")
    return book


def snapshot(device: devices.device | str | int | None = None) -> Snapshot:
    """The bytes that a device holds now, and held at its peak."""
    return of(device).snapshot()


@contextmanager
def watch(device: devices.device | str | int | None = None) -> Iterator[MemoryWatch]:
    """Measure the peak of a block, undisturbed by other measurements."""
    book, seen = of(device), MemoryWatch()
    with book._lock:
        book._settle()
        book.watches.append(seen)
        book._mark_peaks()
    try:
        yield seen
    finally:
        with book._lock:
            book.watches.remove(seen)


# -------------------------------------------------------------------------------------------- words

_PACKAGE = str(Path(__file__).parents[1])


def _caller(depth: int) -> tuple[CodeType | None, int]:
    """The line outside of this package that led here."""
    frame = sys._getframe(depth)
    while frame.f_code.co_filename.startswith(_PACKAGE):
        if frame.f_back is None:
            break
        frame = frame.f_back
    return frame.f_code, frame.f_lineno


def _place(entry: LedgerEntry) -> str:
    if entry.code is None:
        return ""
    return f"made at {Path(entry.code.co_filename).name}:{entry.line} in {entry.code.co_name}"
