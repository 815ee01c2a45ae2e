"""How much a simulated device holds: the ledger of `tensors.ledger`, read through torch's names.

There is no caching allocator, so what is reserved is what is allocated, and bytes are exact.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.cuda.current import index_of
from minitorch_dist.tensors import devices, ledger, pools
from minitorch_dist.tensors.devices import device as Device
from minitorch_dist.tensors.ledger_report import CATEGORIES

Which = Device | str | int | None


def book(device: Which = None) -> ledger.Ledger:
    """The ledger of a device. Raises where the device does not exist."""
    return ledger.of(devices.device("cuda", index_of(device)))


def memory_allocated(device: Which = None) -> int:
    """Live bytes now; 0 where there are no devices, as in torch."""
    return book(device).snapshot().live if devices.count() else 0


def max_memory_allocated(device: Which = None) -> int:
    """The most bytes that were live at once, since the start or `reset_peak_memory_stats`."""
    return book(device).snapshot().peak if devices.count() else 0


memory_reserved = memory_allocated
max_memory_reserved = max_memory_allocated


def reset_peak_memory_stats(device: Which = None) -> None:
    book(device).reset_peak()


def empty_cache() -> None:
    """Nothing to do: freed memory is never kept back."""


def mem_get_info(device: Which = None) -> tuple[int, int]:
    """Free and total bytes of a device."""
    found = book(device)
    return found.capacity - found.snapshot().live, found.capacity


def memory_stats(device: Which = None) -> dict[str, Any]:
    """Counters under torch's keys, and the live and peak bytes of each category.

    `allocated_bytes.all.peak`, `allocation.all.current`, `num_ooms`, … and
    `allocated_bytes.activation.peak`: what activations held when the whole was at its peak.
    """
    if not devices.count():
        return {}
    found = book(device)
    now = found.snapshot()
    stats: dict[str, Any] = {}
    for name in ("allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes"):
        stats[f"{name}.all.current"] = now.live
        stats[f"{name}.all.peak"] = now.peak
        stats[f"{name}.all.allocated"] = found.entered_bytes
        stats[f"{name}.all.freed"] = found.entered_bytes - now.live
    for name in ("allocation", "active"):
        stats[f"{name}.all.current"] = now.arrays
        stats[f"{name}.all.peak"] = found.most_arrays
        stats[f"{name}.all.allocated"] = found.entered
        stats[f"{name}.all.freed"] = found.entered - now.arrays
    for what in ("current", "peak", "allocated", "freed"):
        stats[f"inactive_split_bytes.all.{what}"] = 0
    for name in CATEGORIES:
        stats[f"allocated_bytes.{name}.current"] = now.by_category[name]
        stats[f"allocated_bytes.{name}.peak"] = now.peak_by_category[name]
    stats |= {"num_alloc_retries": 0, "num_ooms": found.refused}
    return dict(sorted(stats.items()))


def memory_summary(device: Which = None, abbreviated: bool = False) -> str:
    """The holders of the memory, as a table; unless `abbreviated` with the largest arrays by name of line."""
    found = book(device)
    text = f"{found.device}: {pools.readable(found.capacity)}, simulated\n{found.snapshot()}"
    held = [] if abbreviated else found.held()
    if held:
        text += f"\nThe largest of {len(held)}:" + "".join(f"\n  {h}" for h in held[:10])
    return text
