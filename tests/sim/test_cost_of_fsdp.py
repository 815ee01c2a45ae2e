"""The work of a simulated rank under `fully_shard` does not grow with the number of ranks: counted, and not timed."""

from __future__ import annotations

import sys
import threading
from typing import Any

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


def test_a_rank_does_as_much_among_many_as_among_few() -> None:
    few, many = calls(16), calls(48)
    assert few > 50 and many <= 1.1 * few
