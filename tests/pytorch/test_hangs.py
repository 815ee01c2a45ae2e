"""Each program that hangs under gloo is named with its ranks and its line: simulated, and over TCP after seconds."""

from __future__ import annotations

import inspect
import logging
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist
import torch.distributed.fsdp  # noqa: F401 - before the fork: it takes a second

from minitorch_dist import sim
from minitorch_dist.distributed.exceptions import PeerLost
from minitorch_dist.pytorch.errors import as_torch
from mtd import zoo
from tests.pytorch import hangs
from tests.pytorch.ranks import RankFailed, on_ranks
from tests.sim.test_zoo import FOUND

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pytorch.md"
NET = "sim://?latency=20us&rate=10Gb/s"
MISMATCH = "these ranks should do the same"
CIRCLE = "In a circle each rank waits for the next"
# The words about each program: on simulated ranks, and over TCP.
SAID = {
    "one_rank_logs": (MISMATCH, MISMATCH),
    "other_order": (MISMATCH, MISMATCH),
    "other_shape": (MISMATCH, MISMATCH),
    "all_receive_first": (CIRCLE, CIRCLE),
    "one_batch_more": ("rank 0 is lost (it has left, after all_reduce #7", "is lost (it has left, after all_reduce #7"),
    "other_graph": (MISMATCH, MISMATCH),
    "other_groups": (CIRCLE, CIRCLE),
    "members_only": (CIRCLE, CIRCLE),
    "two_groups": (CIRCLE, CIRCLE),
    "other_metrics": (MISMATCH, MISMATCH),
    "early_stop": (MISMATCH, MISMATCH),
    "one_skips": ("is the first that was called from different lines", "it has left, after all_reduce #4"),
    "one_rank_raises": ("a bad record", "a bad record"),
    "one_rank_leaves": ("rank 1 is lost (it has left", "rank 1 is lost"),
    "other_roots": (MISMATCH, MISMATCH),
    "rank_0_prints_a_weight": (MISMATCH, MISMATCH),
}
WITHOUT_A_LINE = ("one_rank_raises", "one_rank_leaves")  # a traceback tells the one, and the other calls nothing


def line_of_the_bug(name: str) -> str:
    lines, first = inspect.getsourcelines(getattr(hangs, name))
    (at,) = (number for number, line in enumerate(lines, first) if "the bug" in line)
    return f"{Path(hangs.__file__).name}:{at}"


def check(name: str, words: str, said: str) -> None:
    assert words in said and "rank" in said
    assert name in WITHOUT_A_LINE or line_of_the_bug(name) in said


@pytest.mark.parametrize("size", [4, 64])
@pytest.mark.parametrize("name", SAID)
def test_on_simulated_ranks(name: str, size: int) -> None:
    with pytest.raises(Exception) as failed:
        sim.run(_with_group(name), size, net=NET)
    check(name, SAID[name][0], "\n".join([str(failed.value), *failed.value.__notes__]))


def _with_group(name: str) -> Any:
    program = partial(hangs.main, name, "gloo")
    program.uses_torch = True  # type: ignore[attr-defined]
    return program


@pytest.mark.parametrize("name", SAID)
def test_over_tcp_after_seconds(name: str) -> None:
    with pytest.raises(RankFailed) as failed:
        on_ranks(getattr(hangs, name), 4)
    check(name, SAID[name][1], failed.value.of_all)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["other_graph", "two_groups"])
def test_under_torchrun(name: str) -> None:
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", "-m", hangs.__name__, name, "mtd"]
    ended = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=240, cwd=ROOT)
    assert ended.returncode
    check(name, SAID[name][1], ended.stderr)


@pytest.mark.parametrize("name", zoo.NAMES)
def test_a_hang_of_the_zoo_is_explained_in_real_pytorch_as_in_ours(name: str) -> None:
    exhibit, (kind, words) = zoo.exhibit(name), FOUND[name]
    with pytest.raises(kind) as caught:
        sim.run(zoo.real(name)[1], exhibit.RANKS)
    said = "\n".join([str(caught.value), *caught.value.__notes__])
    assert words.replace(" of group 'mesh_shard'", "") in said.replace(" of group '1, made at torchrec_4149.py:20'", "")


def _one_send_too_many() -> None:
    logging.getLogger("minitorch_dist").addHandler(logging.StreamHandler(sys.stderr))
    hangs.nobody_receives()


def test_a_send_too_many_is_told(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    """It is no hang here, where a send does not wait for its receive."""
    sim.run(_with_group("nobody_receives"), 4, net=NET)
    on_ranks(_one_send_too_many, 4)
    for said in (caplog.text, capfd.readouterr().err):
        assert "rank 1 leaves and has not received what rank 0 sent" in said
        assert line_of_the_bug("nobody_receives") in said


def test_an_error_of_two_libraries_can_be_pickled() -> None:
    error = as_torch(PeerLost(3, "it left", "rank 0 needs in all_reduce"))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and type(again) is type(error) and again.rank == 3
    assert isinstance(again, dist.DistError)
