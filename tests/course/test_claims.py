"""What the texts of the lessons say besides what their checks measure: each claim is tried here."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.testing.strictness import strict
from mtd.course import all_reduces


@pytest.mark.parity
def test_group_stands_before_tag_as_in_torch() -> None:
    """Lesson 5."""
    theirs = pytest.importorskip("torch.distributed")
    for module in (dist, theirs):
        for name, peer in (("send", "dst"), ("recv", "src")):
            arguments = [*inspect.signature(getattr(module, name)).parameters]
            assert arguments[:4] == ["tensor", peer, "group", "tag"]


def overtaken() -> list[float] | None:
    """Rank 0 receives from anybody, then from rank 2, which sends after it has heard from rank 1."""
    one = torch.ones(1)
    if dist.get_rank() == 1:
        dist.send(one, 0)
        dist.send(one, 2)
    elif dist.get_rank() == 2:
        dist.recv(one, 1)
        dist.send(2 * one, 0)
    else:
        found = []
        for source in (None, 2):
            dist.recv(one, source)
            found.append(one.item())
        return found
    return None


def test_room_can_make_a_deadlock_where_a_receive_names_no_source() -> None:
    """Lesson 7: with rendezvous it ends; with room, and a slow cable from 1 to 0, it does not."""
    slow = ["delay=1s,src=1,dst=0"]
    with strict():
        assert sim.run(overtaken, 3).results[0] == [1.0, 2.0]
        assert sim.run(overtaken, 3, faults=slow).results[0] == [1.0, 2.0]
    with pytest.raises(dist.PeerLost, match="rank 0 needs in recv"):
        sim.run(overtaken, 3, faults=slow)


def test_a_circle_with_a_receive_from_anybody_may_open() -> None:
    """Lesson 7: rank 0 waits for anybody, rank 1 for rank 0; rank 2 opens the circle."""

    def program() -> float:
        one = torch.zeros(1)
        if dist.get_rank() == 2:
            dist.send(torch.ones(1), 0)
        elif dist.get_rank() == 1:
            dist.recv(one, 0)
            dist.send(one, 0)
        else:
            dist.recv(one)
            dist.send(one + 1, 1)
            dist.recv(one, 1)
        return one.item()

    assert sim.run(program, 3).results == [2.0, 2.0, 0.0]


def test_of_six_ranks_partner_seven_would_have_brought_two() -> None:
    """Lesson 14: rank 3 lacks 4 and 5, and nobody else."""

    def program() -> list[int]:
        labels = torch.tensor([64 ** dist.get_rank()])
        all_reduces.doubling_for_powers_only(labels)
        return [labels.item() // 64**rank % 64 for rank in range(6)]

    assert sim.run(program, 6).results[3] == [1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize("size", [2, 4, 8])
def test_the_bus_bandwidth_of_a_ring_is_half_where_bytes_cost_as_much_as_messages(
    size: int,
) -> None:
    """Lesson 15: n β = P α gives half of what the link is sold as; much larger n gives nearly all."""
    alpha, rate = 5e-6, 12.5e9  # 100 Gb/s

    def bandwidth(nbytes: int) -> float:
        def program() -> None:
            dist.all_reduce(torch.zeros(nbytes // 8, dtype=torch.float64), algorithm="ring")

        seconds = sim.run(program, size, net=sim.uniform("5us", "12.5GB/s")).time / 1e12
        return 2 * (size - 1) / size * nbytes / seconds

    level = int(size * alpha * rate)
    assert bandwidth(level) == pytest.approx(rate / 2, rel=0.01)
    assert bandwidth(100 * level) > 0.98 * rate
    assert round(1000 * alpha * rate) == 62_500_000


@pytest.mark.filterwarnings("ignore:backward.. is called within no_sync")
def test_a_flag_set_between_forward_and_backward_averages_the_first_piece() -> None:
    """Lesson 18: of a batch in three pieces, that of rank r a (r + 1)-th, only the first is averaged."""

    def program() -> list[float]:
        layer = torch.nn.Linear(1, 1, bias=False)
        model = DistributedDataParallel(layer)
        found = []
        for _ in range(2):
            layer.zero_grad()
            for piece in range(3):
                output = model(torch.full((1, 1), (dist.get_rank() + 1.0) * 10**piece))
                model.require_backward_grad_sync = piece == 2
                output.sum().backward()
            found.append(float(layer.weight.grad.item()))  # type: ignore[union-attr]
        return found

    for rank, found in enumerate(sim.run(program, 2).results):
        assert found == [1.5 + 110.0 * (rank + 1)] * 2, (rank, found)


def test_where_no_gradient_is_old_the_rate_has_a_bound_too() -> None:
    """Lesson 25: τ = 0 and ηa = 1.9: ηaτ < 1, and the error is -0.9 times what it was, not within 1 - ηa of it."""
    rate, error = 1.9, 1.0
    after: Any = (1 - rate) * error
    assert abs(after) > (1 - rate * (1 - rate * 0)) * error
