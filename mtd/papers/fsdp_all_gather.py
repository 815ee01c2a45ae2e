"""P13: all_gathers that are too small: the curve of FSDP's figure 2(b)."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.distributed.schedules.choice import named
from minitorch_dist.sim import nets
from mtd import estimates
from mtd.papers.paper import Row

SIZE, TOTAL, KNEE = 16, 1 << 30, 33_000_000  # ranks, elements in all, elements at the knee
BETA = 80  # ps per byte


def rows() -> Sequence[Row]:
    # One number is fitted: a latency such that at the knee the total is 10 % above the limit.
    latency = round(0.1 * 4 * KNEE * BETA / SIZE)
    ring = named("all_gather", "ring")

    def total(elements: int, alpha: int = latency) -> float:
        time = estimates.estimate(ring, SIZE, 4 * elements, nets.Hockney(alpha, BETA)).time
        return TOTAL / elements * time

    limit = total(TOTAL, 0)
    found = [Row("T(33M) / T(∞), fitted", 1.1, total(KNEE) / limit, 1e-6)]
    found += [
        Row(f"T({s >> 20}Mi) / T(∞)", 1 + 0.1 * KNEE / s, total(s) / limit, 1e-4)
        for s in (1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28)
    ]
    rising = total(KNEE // 4) / total(KNEE) - total(KNEE) / total(4 * KNEE)
    found.append(Row("“begins increasing rapidly” below 33M", (0.1, 1.0), rising))
    return found
