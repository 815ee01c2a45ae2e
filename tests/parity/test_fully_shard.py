"""PyTorch's example of fully_shard runs by changed imports, and its losses are torch's: `sharding_program`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from minitorch_dist.launching import launch
from tests.parity import oracle
from tests.parity.sharding_program import face_of, run

pytestmark = [pytest.mark.parity, pytest.mark.slow]


def torch_rank(rank: int, folder: str) -> None:
    f = face_of("torch")
    oracle.join(f, rank, folder)
    found = {by_hand: run(f, rank, folder, by_hand) for by_hand in (False, True)}
    oracle.leave(f, rank, folder, found)


@pytest.mark.parametrize("size", [2, 4])
def test_the_example_and_its_checkpoints(size: int, tmp_path: Path) -> None:
    (tmp_path / "size").write_text(str(size), "utf-8")
    folder = str(tmp_path)

    def ours() -> dict[bool, Any]:
        f = face_of("minitorch_dist")
        f.dist.init_process_group()
        return {by_hand: run(f, f.dist.get_rank(), folder, by_hand) for by_hand in (False, True)}

    mine = launch(ours, size)
    theirs = oracle.ranks(__name__, size, tmp_path)
    for one, other in zip(theirs, mine, strict=True):
        for by_hand in (False, True):
            assert other[by_hand]["on"] == other[by_hand]["again"]  # the checkpoint has all of it
            for part in ("begin", "on", "again"):
                np.testing.assert_allclose(other[by_hand][part], one[by_hand][part], rtol=2e-5, atol=1e-5)
