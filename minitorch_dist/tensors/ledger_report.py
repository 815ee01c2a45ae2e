"""The report of a ledger: how much each category holds, as values and as text."""

from __future__ import annotations

from typing import Final, NamedTuple

from minitorch_dist.tensors.pools import readable

CATEGORIES: Final = ("parameter", "gradient", "optimizer", "activation", "communication", "other")


class LiveArray(NamedTuple):
    """One live array, as shown to people."""

    nbytes: int
    category: str
    shape: tuple[int, ...]
    dtype: str
    made_at: str

    def __str__(self) -> str:
        kind = f"{self.dtype}[{','.join(map(str, self.shape))}]"
        return f"{readable(self.nbytes):>9}  {self.category:<13} {kind:<24} {self.made_at}"


class Snapshot(NamedTuple):
    """The bytes that a device held at one moment. `str()` of it is a table."""

    device: str
    live: int
    by_category: dict[str, int]
    peak: int
    peak_by_category: dict[str, int]
    budget: int
    arrays: int

    def __str__(self) -> str:
        return _table(self)


class MemoryWatch:
    """The peak of a block: `with watch("cuda:0") as w: …; w.peak, w.by_category`."""

    def __init__(self) -> None:
        self.peak = 0
        self.by_category: dict[str, int] = {}


def shares(by_category: dict[str, int]) -> str:
    return ", ".join(f"{n} {readable(b)}" for n, b in by_category.items() if b) or "nothing"


def _table(now: Snapshot) -> str:
    lines = [f"{now.device:<14} {'live':>10} {'at the peak':>12}"]
    for name in CATEGORIES:
        here, then = now.by_category.get(name, 0), now.peak_by_category.get(name, 0)
        lines.append(f"  {name:<12} {readable(here):>10} {readable(then):>12}")
    lines.append(f"  {'together':<12} {readable(now.live):>10} {readable(now.peak):>12}")
    lines.append(f"  {'budget':<12} {readable(now.budget):>10}")
    return "\n".join(lines)


def advice(now: Snapshot, asked: str, nbytes: int) -> str:
    """Advice on the next step. It depends on the category that holds the most."""
    if nbytes > now.budget:
        return "Next step: this one tensor alone is larger than the whole device; split it."
    totals = dict(now.by_category)
    totals[asked] += nbytes
    most = max(totals, key=lambda name: totals[name])
    return (
        "Next step: "
        + {
            "parameter": "the model alone is too large for this device; shard its parameters (FSDP), "
            "split the layers over devices, or store them in bfloat16.",
            "gradient": "gradients dominate; shard them (FSDP), or call optimizer.zero_grad() "
            "(set_to_none=True) before the forward pass.",
            "optimizer": "the optimizer's state dominates; shard it (ZeroRedundancyOptimizer, FSDP), or "
            "take an optimizer with less state (SGD without momentum keeps none).",
            "activation": "activations dominate; use a smaller batch, checkpoint segments of the model "
            "(utils.checkpoint), or wrap what needs no gradients in no_grad().",
            "communication": "communication buffers dominate; take smaller buckets, or gradient_as_bucket_view=True.",
            "other": "most of it is neither parameter nor graph; look for tensors that a list, a "
            "closure or a total_loss that was never detached keeps alive.",
        }[most]
    )
