"""`mtd run` of a script that asks the environment who it is, as scripts for torchrun do: the same on every wire."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mtd.cli import main

SCRIPT = """
import os
import minitorch_dist as torch
import minitorch_dist.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
assert int(os.environ["LOCAL_RANK"]) == rank and "NOBODY_SETS_THIS" not in os.environ
os.environ["MTD_TEST_OF_A_RANK"] = f"{rank}"
dist.init_process_group("gloo")
x = torch.ones(2) * rank
dist.all_reduce(x)
dist.barrier()
assert os.environ["MTD_TEST_OF_A_RANK"] == f"{rank}", "what a rank sets is its own"
assert (rank, size) == (dist.get_rank(), dist.get_world_size())
print(f"rank {rank} of {size}: {x.tolist()}")
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "as_under_torchrun.py"
    path.write_text(SCRIPT)
    return str(path)


@pytest.mark.parametrize("net", ["sim", "queue", "tcp", "file"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_each_rank_finds_itself(net: str, ranks: int, script: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ)
    assert main(["run", "--ranks", f"{ranks}", "--net", net, script]) == 0
    said = [line for line in capfd.readouterr().out.splitlines() if line.startswith("rank ") and ":" in line]
    total = float(sum(range(ranks)))
    assert sorted(said) == [f"rank {rank} of {ranks}: {[total, total]}" for rank in range(ranks)]
    assert dict(os.environ) == before and type(os.environ._data) is dict


def test_seeds_and_a_replay(script: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--ranks", "2", "--seeds", "3", script]) == 0
    assert main(["replay", "mtd1:seed=1;ranks=2", script]) == 0
    assert "It does not fail" in capfd.readouterr().out


def test_one_rank_for_all_has_to_ask_where_it_is_heard(script: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--ranks", "2", "--shapes", "--device", "h100", "--fold", script]) == 1
    assert "with --fold a script asks dist.get_rank()" in capfd.readouterr().err
