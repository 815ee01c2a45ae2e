"""Functions of one's own carry real PyTorch: right ones give gloo's numbers, wrong ones other numbers or an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.distributed as dist

from minitorch_dist import distributed as ours, sim
from minitorch_dist.pytorch import own_collectives
from mtd.cli import capstone
from mtd.course import lesson, real_bridge, real_training
from mtd.course.contest import TEMPLATE
from mtd.course.lesson import LessonError
from mtd.course.path import LessonAnswer
from mtd.course.real_bridge import RealOutcome, RealPart
from mtd.course.workspace import Workspace
from tests.pytorch import programs
from tests.pytorch.ranks import RankFailed, on_ranks

HERE = __name__
RING = f"{lesson.find(13).folder / 'ring.py'}"


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    own_collectives._named.cache_clear()
    with mock.patch.dict(os.environ), LessonAnswer.ours(lesson.find(15)).searched():
        yield
    own_collectives._named.cache_clear()


def receives_first(tensor: Any, op: Any = None) -> None:
    ours.recv(tensor, (ours.get_rank() - 1) % ours.get_world_size())


def forgets_the_first(tensor: Any, op: Any = None) -> None:
    ours.all_reduce(tensor.view(-1)[1:], op)


def raises(tensor: Any, op: Any = None) -> None:
    if ours.get_rank() == 1:
        raise IndexError("chunk 3 of 3")
    ours.recv(tensor, 1)


def _ddp(**named: str) -> list[Any]:
    os.environ.update(named)
    return on_ranks(programs.train_ddp, 3)


@pytest.mark.parametrize("address", [f"{RING}:all_reduce", "doubling:all_reduce", "doubling:rabenseifner"])
def test_a_lessons_all_reduce_gives_gloos_losses(address: str) -> None:
    expected = on_ranks(programs.train_ddp, 3, backend="gloo")
    torch.testing.assert_close(_ddp(MTD_ALL_REDUCE=address), expected, rtol=1e-6, atol=0)


def test_a_lessons_broadcast_brings_the_weights_of_rank_0() -> None:
    expected = on_ranks(programs.train_ddp, 3)
    assert _ddp(MTD_BROADCAST="tree:broadcast") == expected


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_lessons_functions_carry_fully_shard(size: int) -> None:
    os.environ.update(MTD_ALL_GATHER=f"{RING}:all_gather", MTD_REDUCE_SCATTER=f"{RING}:reduce_scatter")
    for losses in on_ranks(programs.train_fsdp, size):
        torch.testing.assert_close(losses, programs.train_alone(), rtol=1e-5, atol=1e-7)


def test_a_schedule_of_ones_own_is_proved_and_carries_ddp(tmp_path: Path) -> None:
    file = tmp_path / "left.py"
    file.write_text(TEMPLATE.format(name=file.name))
    torch.testing.assert_close(_ddp(MTD_ALL_REDUCE=f"{file}:all_reduce")[0], programs.train_alone(), rtol=1e-5, atol=0)
    file.write_text(TEMPLATE.format(name=file.name).replace("reduce=True", "reduce=False"))
    with pytest.raises(RankFailed, match="ScheduleError"):
        _ddp(MTD_ALL_REDUCE=f"{file}:all_reduce")


@pytest.mark.parametrize("name", ["left.py", "circulant", "rails", "recursive_multiplying"])
def test_a_file_and_the_gallery_carry_ddp(tmp_path: Path, name: str) -> None:
    file = tmp_path / "left.py"
    file.write_text(TEMPLATE.format(name=file.name))
    found = _ddp(MINITORCH_DIST_ALGORITHM=str(file) if name == file.name else name)
    torch.testing.assert_close(found[0], programs.train_alone(), rtol=1e-5, atol=0)


def test_swing_carries_ddp_on_powers_of_two() -> None:
    os.environ["MINITORCH_DIST_ALGORITHM"] = "swing"
    found = on_ranks(programs.train_ddp, 4)
    torch.testing.assert_close(found[0], programs.train_alone(), rtol=1e-5, atol=0)
    with pytest.raises(RankFailed, match="made for powers of two, and not for 3 ranks"):
        on_ranks(programs.train_ddp, 3)


def test_wrong_numbers_are_not_hidden() -> None:
    right = on_ranks(programs.train_ddp, 3)
    assert _ddp(MTD_ALL_REDUCE=f"{HERE}:forgets_the_first") != right


def test_a_circle_in_it_is_named() -> None:
    with pytest.raises(RankFailed) as failed:
        _ddp(MTD_ALL_REDUCE=f"{HERE}:receives_first")
    assert "In a circle" in failed.value.of_all and "test_own_collectives.py:" in failed.value.of_all


def test_its_error_ends_the_other_ranks() -> None:
    with pytest.raises(RankFailed) as failed:
        _ddp(MTD_ALL_REDUCE=f"{HERE}:raises")
    assert "IndexError: chunk 3 of 3" in failed.value.of_all
    assert "rank 1 is lost" in failed.value.of_all


def _average_beside_messages() -> list[float]:
    """Messages of the program's own, and groups of fewer ranks, go on as they do."""
    rank, size = dist.get_rank(), dist.get_world_size()
    mean, taken, pair = torch.full((5,), float(rank)), torch.zeros(1), dist.new_group([0, 1])
    sending = dist.isend(torch.tensor([float(rank)]), (rank + 1) % size)
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    dist.recv(taken, (rank - 1) % size)
    sending.wait()
    if rank < 2:
        dist.all_reduce(taken, group=pair)
    return [*mean.tolist(), float(taken)]


def test_averages_messages_and_smaller_groups() -> None:
    usual = on_ranks(_average_beside_messages, 3)
    os.environ["MTD_ALL_REDUCE"] = f"{RING}:all_reduce"
    assert on_ranks(_average_beside_messages, 3) == usual


def _smallest_bits() -> None:
    dist.all_reduce(torch.ones(1, dtype=torch.int32), dist.ReduceOp.BAND)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ring", "name a function, as in ring.py:all_reduce"),
        ("no_such_file.py:all_reduce", "there is no file"),
        ("no_such_module:all_reduce", "No module named 'no_such_module'"),
        (f"{HERE}:nothing", "has no function 'nothing'"),
        (f"{HERE}:raises", "is called for SUM, AVG, PRODUCT, MAX, MIN, and the program asks for BAND"),
    ],
)
def test_what_cannot_be_is_told(address: str, words: str) -> None:
    os.environ["MTD_ALL_REDUCE"] = address
    with pytest.raises(RankFailed) as failed:
        on_ranks(_smallest_bits, 1)
    assert words in str(failed.value)


def _simulated() -> list[float]:
    dist.init_process_group("gloo")
    return programs.train_ddp()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_on_simulated_ranks_too(size: int) -> None:
    os.environ["MTD_ALL_REDUCE"] = f"{RING}:all_reduce"
    for losses in sim.run(_simulated, size).results:
        torch.testing.assert_close(losses, programs.train_alone(), rtol=1e-5, atol=1e-7)


# -------------------------------------------------------------------------------- mtd bridge --real


@pytest.fixture
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train in this process, which has torch already."""

    def outcome(part: RealPart) -> RealOutcome:
        own_collectives._named.cache_clear()
        return real_training.outcome(part)

    monkeypatch.setattr(real_bridge, "_outcome", outcome)
    monkeypatch.setattr(real_bridge, "found_or_none", lambda: None)


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("number", real_bridge.PARTS)
def test_our_functions_give_gloos_losses(number: float) -> None:
    for trained in real_bridge.train(lesson.find(int(number))):
        assert trained.is_right and "those of gloo" in trained.sentence
        assert trained.outcome.messages > 0 and any("rank 2" in line for line in trained.outcome.picture)
        assert len(trained.table) == real_training.STEPS + 1 and "(ours)" in trained.about


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        (
            "parts[coming].copy_(COMBINE[op](parts[coming], received))",
            "parts[coming].copy_(received)",
            "The losses part at step",
        ),
        ("work = dist.isend(parts[going], right)", "work = dist.isend(parts[99], right)", "IndexError, at ring.py:"),
        (
            "received = torch.empty_like(parts[coming])\n",
            "received = torch.empty_like(parts[coming])\n        dist.recv(received, left)\n",
            "In a circle",
        ),
    ],
)
def test_a_wrong_ring_is_told(
    right: str, wrong: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path(RING).read_text()
    assert right in text
    (tmp_path / "ring.py").write_text(text.replace(right, wrong, 1))
    monkeypatch.setattr(real_bridge, "_answer", lambda module: (LessonAnswer(module, tmp_path), "ring.py"))
    trained = next(real_bridge.train(lesson.find(13)))
    assert words in trained.sentence and not trained.is_right


@pytest.mark.usefixtures("_here")
def test_the_capstone_trains_real_ddp_with_the_learners_all_reduce(tmp_path: Path) -> None:
    mine = Workspace(tmp_path)
    real = capstone.trained_for_real(mine, ["torch"])
    assert real is not None and real.is_right and "DistributedDataParallel" in real.about
    assert capstone.trained_for_real(None, ["torch"]) is None
    assert capstone.trained_for_real(mine, ["tcp"]) is None


def test_a_missing_torch_and_other_lessons_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LessonError, match="lessons 11, 13, 14, 21, 31 have"):
        next(real_bridge.train(lesson.find(12)))
    monkeypatch.setattr(real_bridge.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LessonError, match=r"pip install 'minitorch_dist\[torch\]'"):
        next(real_bridge.train(lesson.find(13)))
