"""Orders of sets of strings, which all ranks of one process share and real ranks do not."""

from __future__ import annotations

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim

NAMES = [f"layer{number}.weight" for number in range(8)]


def in_the_order_of_a_set() -> None:
    for name in set(NAMES):
        dist.all_reduce(torch.ones(NAMES.index(name) + 1))


def in_a_given_order(names: list[str] | None = None) -> None:
    for name in sorted({*NAMES, *(names or [])}):
        dist.all_reduce(torch.ones(len(name)))


def a_set_of_numbers() -> None:
    for number in {3, 1, 2}:
        dist.broadcast(torch.ones(number), 0)


def test_a_set_of_strings_is_found() -> None:
    assert sim.survey(in_the_order_of_a_set, 3, 3).failure is None  # no seed of ours shows it
    with pytest.raises(sim.DependsOnHashes, match=r"rank 0 .* all_reduce #0 .*test_hashing.py:15"):
        sim.check_hash_seeds(in_the_order_of_a_set, 3, hash_seeds=(1, 2))


def test_what_has_an_order_of_its_own_is_right() -> None:
    sim.check_hash_seeds(in_a_given_order, 3, args=(["more"],), hash_seeds=(1, 2))
    sim.check_hash_seeds(a_set_of_numbers, 2, hash_seeds=(1, 2))


def test_a_function_that_nobody_finds() -> None:
    with pytest.raises(TypeError, match="stands in a module"):
        sim.check_hash_seeds(lambda: None, 2)
