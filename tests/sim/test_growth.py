"""How many messages things take, as the world grows: P lg P, never P². Counted, not timed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed import checkpoint, world
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.execution.operations import GroupChannel
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel, fully_shard
from minitorch_dist.nn.parallel import DistributedDataParallel


def nothing() -> None:
    pass


def beginning_and_ending() -> None:
    dist.init_process_group()
    dist.destroy_process_group()


def objects_of_all() -> None:
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, {"rank": dist.get_rank()})
    assert found == [{"rank": rank} for rank in range(dist.get_world_size())]


def objects_of_one() -> None:
    me, size = dist.get_rank(), dist.get_world_size()
    root = size // 2
    found: list[Any] | None = [None] * size if me == root else None
    dist.gather_object("x" * me, found, dst=root)
    assert found is None or found == ["x" * rank for rank in range(size)]
    told = ["said", {"by": root}] if me == root else [None, None]
    dist.broadcast_object_list(told, src=root)
    assert told == ["said", {"by": root}]
    mine: list[Any] = [None]
    dist.scatter_object_list(mine, [[r] * r for r in range(size)] if me == root else None, src=root)
    assert mine == [[me] * me]


def groups_and_barriers() -> None:
    group = dist.new_group(list(range(0, dist.get_world_size(), 2)))
    if dist.get_rank() % 2 == 0:
        dist.barrier(group)
    dist.barrier()
    dist.monitored_barrier()
    init_device_mesh("cpu", (2, dist.get_world_size() // 2))


def ddp() -> None:
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    model(torch.ones(2, 4)).sum().backward()


def fsdp() -> None:
    model = FullyShardedDataParallel(nn.Linear(16, 16))
    model(torch.ones(2, 16)).sum().backward()


def sharded() -> None:
    model = nn.Linear(16, 16)
    fully_shard(model)
    model(torch.ones(2, 16)).sum().backward()


def saving() -> None:
    place = [tempfile.gettempdir()]
    dist.broadcast_object_list(place)
    checkpoint.save({"a": torch.ones(3)}, checkpoint_id=Path(place[0]) / "growth")
    checkpoint.load({"a": torch.ones(3)}, checkpoint_id=Path(place[0]) / "growth")


@pytest.mark.parametrize(
    "program",
    [nothing, beginning_and_ending, objects_of_all, objects_of_one, groups_and_barriers, ddp, fsdp, sharded, saving],
)
def test_messages_grow_little_faster_than_the_world(
    program: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From P to 2P ranks, P lg P grows by 2 + 2/lg P; P² by 4. Reckoned from 16 on, that is 2.5."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    counts = {size: sim.run(program, size, engine="greenlet").messages for size in (16, 32, 64)}
    assert counts[32] <= 2.55 * counts[16] and counts[64] <= 2.45 * counts[32], counts
    for size in (1, 2, 3, 5):
        if program is not groups_and_barriers or size % 2 == 0:
            sim.run(program, size)


class Asked(tuple[int, ...]):
    """Ranks that count how often somebody is looked for among them, from the first to the last."""

    searches = 0

    def __contains__(self, rank: object) -> bool:
        Asked.searches += 1
        return super().__contains__(rank)


def test_no_member_of_a_whole_world_is_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank that leaves compares its end with its neighbours' ends, if they are members."""
    monkeypatch.setattr(Asked, "searches", 0)

    def program() -> None:
        channel = world.current().groups["0"].channel
        channel.ranks = Asked(channel.ranks)
        dist.barrier()

    for size in (1, 2, 3, 5, 8):
        sim.run(program, size)
        assert Asked.searches == 0
    few = GroupChannel.has
    for ranks in ((0, 1, 2), (4, 2), (1,), ()):
        channel: Any = SimpleNamespace(ranks=ranks)
        assert [few(channel, rank) for rank in range(6)] == [rank in ranks for rank in range(6)]


@pytest.mark.slow
def test_hundreds_of_ranks_exchange_objects() -> None:
    report = sim.run(objects_of_all, 256, engine="greenlet")
    assert report.messages == 256 * 8
    assert sim.run(objects_of_one, 512, engine="greenlet").messages == 3 * 511
    assert sim.run(ddp, 128).messages < 128 * 60


def test_lists_of_objects_take_the_rounds_of_their_schedules() -> None:
    """On links where bytes are free."""
    net = sim.uniform("1us", 0)
    for size in (1, 2, 3, 5, 8, 13):
        rounds = (size - 1).bit_length()
        assert sim.run(objects_of_all, size, net=net).time == rounds * 1_000_000
        assert sim.run(objects_of_one, size, net=net).time <= 3 * rounds * 1_000_000


def crooked() -> None:
    """Different kinds and lengths of objects, and empty ones."""
    me, size = dist.get_rank(), dist.get_world_size()
    kinds = [None, b"", "ä" * 1000, torch.arange(5)[::2], [(), {}], 3 + 4j, float("inf")]
    found: list[Any] = [None] * size
    dist.all_gather_object(found, kinds[me % 7])
    for rank, value in enumerate(found):
        expected = kinds[rank % 7]
        same = torch.equal(value, expected) if rank % 7 == 3 else value == expected
        assert same, (rank, value)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 9])
def test_any_object_goes_to_all(size: int) -> None:
    sim.run(crooked, size)


def differing() -> None:
    wide = 5 if dist.get_rank() in (3, 4) else 4
    layers = [nn.Linear(4, wide)]
    if dist.get_rank() == 4:
        layers.append(nn.Linear(2, 2))
    DistributedDataParallel(nn.Sequential(*layers))


def test_every_rank_is_told_which_model_differs() -> None:
    told: dict[int, str] = {}

    def program() -> None:
        try:
            differing()
        except RuntimeError as error:
            told[dist.get_rank()] = str(error)

    sim.run(program, 6)
    assert set(told) == set(range(6)) and len(set(told.values())) == 1
    assert "Rank 0 has 2 params, while rank 4 has inconsistent 4 params" in told[0]
