"""A rank that somebody has started by hand: what it needs stands in its environment."""

from __future__ import annotations

import minitorch_dist.distributed as dist

if __name__ == "__main__":
    dist.init_process_group("tcp")
