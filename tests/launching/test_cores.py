"""Ranks of one host share its cores."""

from __future__ import annotations

import os

import pytest

import minitorch_dist as torch
from minitorch_dist import sim
from minitorch_dist.launching import cores


@pytest.fixture(autouse=True)
def nobody_has_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in cores.VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("address", ["queue://", "tcp://"])
def test_each_rank_has_its_part_of_the_threads(address: str, size: int) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(7)
        share = max(1, (os.cpu_count() or 1) // size)
        if size > 1:
            assert torch.launch(torch.get_num_threads, size, address) == [share] * size
        assert sim.run(torch.get_num_threads, size).results == [7] * size  # one runs at a time
        assert torch.get_num_threads() == 7
    finally:
        torch.set_num_threads(before)


def test_who_has_said_what_he_wants_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    before = torch.get_num_threads()
    assert torch.launch(torch.get_num_threads, 3) == [before] * 3
