"""The work of a simulated rank under `fully_shard` does not grow with the number of ranks: counted, and not timed."""

from __future__ import annotations

import resource
import sys
import threading
import time
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import nn, sim
from minitorch_dist.distributed.fsdp import fully_shard, shard_layout


def trained() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    for layer in (model[0], model[2]):
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()


def calls(ranks: int) -> float:
    """Python functions that each rank calls, in the library's rooms of FSDP and meshes."""
    folder, count = shard_layout.__file__.rpartition("/")[0], 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(folder)

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        sim.run(trained, ranks, engine="threads", shapes=True)
    finally:
        threading.setprofile(None)
        sys.setprofile(None)
    return count / ranks


@pytest.mark.slow
def test_a_rank_does_as_much_among_many_as_among_few() -> None:
    few, many = calls(16), calls(48)
    assert few > 50 and many <= 1.1 * few


if __name__ == "__main__":  # python -m tests.sim.test_cost_of_fsdp 64 256 1024 4096
    first = 0.0
    for size in map(int, sys.argv[1:]):
        before = time.process_time()
        sim.run(trained, size, shapes=True)
        each = (time.process_time() - before) / size
        first = first or each
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{size} ranks: {each * size:.1f} s, {each / first:.2f} times as much for each, {held} MB", flush=True)
