"""How much longer products take while a collective is under way, measured on all ranks at once.

    products alone      ├──── W ────┤
    a collective alone  ├──── C ────┤
    both                ├──── T ────────────┤        T = C + W - C / κ,   so  κ = C / (C + W - T)

A device's contention κ lets products take κ times as long while the collective lasts (`sim.device`). So C / κ of W is done
by its end, and the rest follows. Where both share a core, T = C + W, and no κ is large enough.
"""

from __future__ import annotations

import statistics
from operator import matmul
from typing import Final

import minitorch_dist as torch
from minitorch_dist import distributed as dist
from minitorch_dist.launching import launch
from minitorch_dist.tensors.autograd import grad_modes
from transports.clock import PICO, SYSTEM

MOST: Final = 64.0  # nothing is hidden then, as far as anybody can measure
NBYTES: Final = 1 << 22
SIZE: Final = 256  # of products
TURNS: Final = 7


def contention(alone: float, collective: float, both: float) -> float:
    """κ, from the seconds of products alone, of a collective alone, and of both at once."""
    left = collective + alone - both
    return max(1.0, min(MOST, collective / left)) if left > 0 else MOST


def measure(address: str, ranks: int) -> list[float]:
    """Of several turns. A single rank sends nothing."""
    return [1.0] if ranks == 1 else launch(turns, ranks, address)[0]


def turns() -> list[float]:
    """On each rank."""
    with grad_modes.no_grad():
        x, message = torch.ones(SIZE, SIZE), torch.ones(NBYTES // 4)
        collective = statistics.median(_seconds(0, x, message, True) for _ in range(TURNS))
        one = statistics.median(_seconds(4, x, message, False) for _ in range(TURNS)) / 4
        count = _agreed(max(1, round(collective / one)))
        found = []
        for _ in range(TURNS):
            alone, sent, both = (
                _seconds(count, x, message, False), _seconds(0, x, message, True),
                _seconds(count, x, message, True),
            )  # fmt: skip
            found.append(contention(alone, sent, both))
    return found


def _agreed(count: int) -> int:
    """The same number on all ranks."""
    found = torch.tensor(float(count))
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    return int(found.item())


def _seconds(products: int, x: torch.Tensor, message: torch.Tensor, sends: bool) -> float:
    dist.barrier()
    began = SYSTEM.now()
    work = dist.all_reduce(message, async_op=True) if sends else None
    for _ in range(products):
        matmul(x, x)
    if work is not None:
        work.wait()
    return (SYSTEM.now() - began) / PICO
