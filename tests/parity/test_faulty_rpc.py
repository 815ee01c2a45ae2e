"""Workers whose messages fail or come late: what comes of each call, in torch and here."""

from __future__ import annotations

from pathlib import Path

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import world
from tests.parity import faulty_program, oracle

pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.slow]


def test_every_line_comes_to_the_same(tmp_path: Path) -> None:
    theirs = oracle.ranks(faulty_program.__name__, 3, tmp_path)
    faulty_program.use(mtd.__name__)
    ours = mtd.launch(lambda: faulty_program.program(world.current().rank), 3, timeout=60)
    (ours[0]["unknown kind"],) = mtd.launch(faulty_program.alone, 1, timeout=60)
    assert ours == theirs
    assert theirs[0]["passed on"] == [4.0, 4.0] and theirs[0]["deleted"] is True
