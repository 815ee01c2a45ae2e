"""The gallery computes the same over all wires, in virtual time, and under DDP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules import choice, gallery
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import GALLERY
from minitorch_dist.launching import launch
from minitorch_dist.nn.parallel import DistributedDataParallel
from mtd import estimates
from mtd.estimates import network_of
from transports.virtual.topology import uniform

assert gallery


def computed(names: list[tuple[str, str]]) -> dict[str, Any]:
    """The result of each algorithm on this rank, of values whose sums depend on the order of addition."""
    rank, size, found = dist.get_rank(), dist.get_world_size(), {}
    for collective, name in names:
        mine = torch.arange(3 * size * size, dtype=torch.float64) * 0.1 + 1.0 / (rank + 1)
        one = mine[: 3 * size].clone()
        match collective:
            case "all_reduce":
                dist.all_reduce(mine, algorithm=name)
            case "broadcast":
                dist.broadcast(mine, size - 1, algorithm=name)
            case "reduce":
                dist.reduce(mine, size - 1, algorithm=name)
                mine = mine if rank == size - 1 else one
            case "all_gather":
                mine = torch.zeros(3 * size * size, dtype=torch.float64)
                dist.all_gather_into_tensor(mine, one, algorithm=name)
            case "reduce_scatter":
                whole, mine = mine, torch.zeros(3 * size, dtype=torch.float64)
                dist.reduce_scatter_tensor(mine, whole, algorithm=name)
            case "all_to_all":
                whole, mine = mine, torch.zeros(3 * size * size, dtype=torch.float64)
                dist.all_to_all_single(mine, whole, algorithm=name)
        found[f"{collective} {name}"] = mine.tolist()
    return found


def served(size: int) -> list[tuple[str, str]]:
    return [key for key, schedule in GALLERY.items() if schedule.serves(size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_all_wires_have_the_same_bits(size: int, tmp_path: Path) -> None:
    names = served(size)
    expected = sim.run(computed, size, args=(names,)).results
    assert launch(computed, size, "queue://", args=(names,), timeout=300) == expected
    for key in expected[0]:
        if key.startswith("all_reduce"):
            assert all(one[key] == expected[0][key] for one in expected), key
    usual = sim.run(computed, size, args=([(collective, "direct") for collective, _ in names],)).results
    for ours, theirs in zip(expected, usual, strict=True):
        for key, value in ours.items():
            assert value == pytest.approx(theirs[f"{key.split()[0]} direct"], rel=1e-12), key


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["tcp://", "file://{}/ranks"])
def test_processes_have_the_same_bits(wire: str, tmp_path: Path) -> None:
    names = served(4)
    expected = sim.run(computed, 4, args=(names,)).results
    assert launch(computed, 4, wire.format(tmp_path), args=(names,), timeout=300) == expected


@pytest.mark.parametrize("key", sorted(GALLERY), ids=" ".join)
def test_theory_is_virtual_time(key: tuple[str, str]) -> None:
    """A run on simulated ranks takes what the bill says, to the picosecond."""
    schedule, net = GALLERY[key], uniform("1us", "12.5GB/s")
    for size in filter(schedule.serves, (2, 3, 5, 8)):
        elements = {"all_gather": 3 * size, "reduce_scatter": 3 * size * size, "all_to_all": 3 * size * size}
        count = 3 * size * size
        took = sim.run(computed, size, net=net, args=([key],)).time
        nbytes = 8 * count
        if key[0] in ("broadcast", "reduce"):
            bill = cost(schedule, size, nbytes, Links(1_000_000, 80), itemsize=8, root=size - 1)
            assert took == bill.time, (size, elements)
        else:
            bill = cost(schedule, size, nbytes, Links(1_000_000, 80), itemsize=8)
            assert took == bill.time == estimates.time_of(schedule, size, nbytes, network_of(net)), size


def trained() -> list[float]:
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 3))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    for step in range(3):
        x = torch.ones(2, 4) * (dist.get_rank() + step + 1) * 0.1
        loss = (model(x) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", sorted({name for collective, name in GALLERY if collective == "all_reduce"}))
def test_it_carries_ddp(name: str) -> None:
    expected = sim.run(trained, 4).results
    with choice.preferring(name):
        found = sim.run(trained, 4).results
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
