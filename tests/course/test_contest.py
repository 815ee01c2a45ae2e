"""The contest: who is right takes part, who is not learns why, and places are those of the times."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitorch_dist.distributed.schedules import choice, ring
from minitorch_dist.distributed.schedules.schedule import Schedule
from mtd import cli
from mtd.course import contest
from mtd.course.contest import NotAdmitted

RING = """
from minitorch_dist.distributed.schedules.steps import Exchange

def all_reduce(rank, size):
    left, right = (rank - 1) % size, (rank + 1) % size
    for step in range(size - 1):
        yield Exchange(left, (rank + step + 1) % size, right, (rank + step + 2) % size, reduce=True)
    for step in range(size - 1):
        yield Exchange(left, (rank + step) % size, right, (rank + step + 1) % size)
"""
REGISTERED = (
    RING.replace("\ndef", '\n@dist.register_schedule("all_reduce", "leftwards")\ndef')
    .replace("all_reduce(rank", "mine(rank")
    .replace("from", "import minitorch_dist.distributed as dist\nfrom", 1)
)
BROADCAST = """
from minitorch_dist.distributed.schedules.steps import Receive, Send

def broadcast(rank, size, root=0):
    for other in range(size):
        yield Send(other, tuple(range(size)), only=(rank == root) & (other != root))
        yield Receive(root, tuple(range(size)), only=(rank == other) & (other != root))
"""
ORDER = """
from minitorch_dist.distributed.pipelining.orders import Action, B, F

def order(rank, pipe):
    made = []
    for n in range(pipe.microbatches):
        made += [Action(rank, F, n), Action(rank, B, n)]
    return made
"""


def entered(folder: Path, text: str) -> contest.Contest:
    file = folder / "mine.py"
    file.write_text(text)
    return contest.held(contest.read(file), 4)


@pytest.mark.parametrize("text", [RING, REGISTERED])
def test_a_ring_to_the_left_takes_what_the_ring_takes(tmp_path: Path, text: str) -> None:
    found = entered(tmp_path, text)
    rings = [entry for entry in found.entries if entry.name in ("ring", contest.MINE)]
    assert [leg.time for leg in rings[0].legs] == [leg.time for leg in rings[1].legs]
    assert {leg.rounds for leg in found.mine.legs} == {6}
    assert all(leg.ratio >= 1 for entry in found.entries for leg in entry.legs)
    scores = [entry.score for entry in found.entries]
    assert scores == sorted(scores) and f"For place {found.place - 1}" in found.next_place()
    assert ("all_reduce", "leftwards") not in {("all_reduce", n) for n in choice.known("all_reduce")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RING.replace("rank + step)", "rank + step + 1)"), "which sent"),
        (RING.replace(", reduce=True", ""), "lacks rank"),
        (REGISTERED.replace(", reduce=True", ""), "lacks rank"),
        (RING.replace("range(size - 1)", "range(size)", 1), "rank"),
        (RING + "    raise KeyError('oh')\n", "KeyError"),
        (BROADCAST.replace("rank == root)", "rank == 0)"), "with 2 ranks"),
        ("x = 1", "enters nothing"),
        ("x =", "SyntaxError"),
        (RING + "    while True:\n        yield Exchange(left, 0, right, 0)\n", "never ends"),
        (ORDER.replace("    made = []", "    while True:\n        yield Action(rank, F, 0)"), "never ends"),
        (ORDER.replace("range(pipe.microbatches)", "range(1)"), "goes forward 0 times"),
        (
            ORDER.replace("Action(rank, F, n), Action(rank, B, n)", "Action(rank, B, n), Action(rank, F, n)"),
            "stands before",
        ),
    ],
)
def test_who_is_wrong_is_not_admitted(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(NotAdmitted, match=said):
        entered(tmp_path, text)


def test_a_rooted_one_has_any_root(tmp_path: Path) -> None:
    found = entered(tmp_path, BROADCAST)
    assert found.mine.legs[0].rounds == 3 and "binomial" in {entry.name for entry in found.entries}


def test_an_order_of_a_pipeline(tmp_path: Path) -> None:
    """One at a time holds least and takes longest."""
    found = entered(tmp_path, ORDER)
    assert found.place == len(found.entries) and found.mine.memory == 1
    assert {entry.name for entry in found.entries} >= {"gpipe", "1f1b", "zero_bubble"}
    assert "less time, on average" in found.next_place()
    better = ORDER.replace(
        "    made = []",
        "    from minitorch_dist.distributed.pipelining import orders\n    return orders.interleaved_zero_bubble(rank, pipe)",
    )
    found = entered(tmp_path, better)
    assert found.place == 1 and "Nothing that is built in is better" in found.next_place()


def test_memory_is_what_is_kept_beyond_the_vector() -> None:
    assert contest.scratch(ring.all_reduce, 4, 1000) == 0
    spare = Schedule("all_reduce", "spare", lambda rank, size: iter(spares(size)))
    assert contest.scratch(spare, 4, 1000) == 0.25


def spares(size: int) -> list[object]:
    from minitorch_dist.distributed.schedules.steps import Combine

    return [Combine(into=size, of=0, reduce=False)]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(RING)
    given = ["contest", str(file), "--ranks", "8", "--net", "nodes", "--size", "64KB"]
    assert cli.main(given) == 0
    said = capsys.readouterr().out
    assert "hierarchical" in said and "A  nodes 64KB: yours takes" in said and "Place " in said
    assert max(map(len, said.split("\n"))) <= 80
    assert cli.main(["contest", str(tmp_path / "none.py")]) == 2
    assert cli.main(["contest", str(file), "--net", "nowhere"]) == 2
    assert "no network is called 'nowhere'" in capsys.readouterr().err


def test_without_a_file_it_says_what_it_is_and_writes_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["contest"]) == 0
    said = capsys.readouterr().out
    assert "all_gather" in said and "ethernet" in said and "mtd contest mine.py --begin" in said
    file = str(tmp_path / "mine.py")
    assert cli.main(["contest", file, "--begin"]) == 0
    assert cli.main(["contest", file, "--net", "cluster", "--size", "1KB"]) == 0
    assert "yours" in capsys.readouterr().out
    assert cli.main(["contest", file, "--begin"]) == 2
    assert "it stays as it is" in capsys.readouterr().err


def test_stopped_it_says_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def all_reduce(rank, size):\n    raise KeyboardInterrupt\n    yield\n")
    assert cli.main(["contest", str(file)]) == 130
    assert "mine.py:2: raise KeyboardInterrupt" in capsys.readouterr().err
