"""Things that attach to a run: the same as by its keyword, one of a kind, and parts that a user writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import sim

SIZES = [1, 2, 3, 5, 8]
KINDS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "device": ([sim.gpu("H100-SXM")], {"device": "H100-SXM"}),
    "devices": ([sim.devices("A100-80-SXM")], {"device": "A100-80-SXM"}),
    "memory": ([sim.memory("1MB")], {"memory": "1MB"}),
    "memory and device": ([sim.gpu("H100-SXM"), sim.memory("1MB")], {"memory": "1MB", "device": "H100-SXM"}),
    "timelines": ([sim.timelines()], {"timelines": True}),
    "faults": ([sim.faults([sim.jitter("3us")])], {"faults": [sim.jitter("3us")]}),
    "shapes": ([sim.shapes()], {"shapes": True}),
    "folded": (
        [sim.shapes(), sim.folded(), sim.timelines(), sim.gpu("H100-SXM")],
        {"shapes": True, "fold": True, "timelines": True, "device": "H100-SXM"},
    ),
}


def step() -> float:
    x = mtd.ones(64, device="cuda" if mtd.cuda.is_available() else "cpu")
    dist.all_reduce(x)
    (x @ x).sum()
    return float(x.shape[0])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_attachment_is_its_keyword(kind: str, size: int) -> None:
    attached, keywords = KINDS[kind]
    one, other = sim.run(step, size, with_=attached), sim.run(step, size, **keywords)
    assert one == other
    assert (one.timelines is None) == (other.timelines is None)
    if one.timelines is not None:
        assert [line.end for line in one.timelines.ranks] == [rank.time for rank in one.ranks]


@pytest.mark.parametrize("size", SIZES)
def test_a_journal_attaches(size: int, tmp_path: Path) -> None:
    report = sim.run(step, size, with_=[sim.journal(tmp_path / "run.mtd")])
    assert report.journal.world_size == size


def test_attachments_serve_several_runs() -> None:
    attached: list[Any] = [sim.gpu("H100-SXM"), sim.timelines()]
    first, second = (sim.run(step, 3, with_=attached) for _ in range(2))
    assert first == second and first.timelines is not second.timelines


def test_a_part_stands_around_the_run_and_each_rank() -> None:
    seen: list[str] = []

    class Watch(sim.RunPart):
        @contextmanager
        def around_run(self) -> Iterator[None]:
            seen.append("begin")
            yield
            seen.append("end")

        @contextmanager
        def around_rank(self, rank: int) -> Iterator[None]:
            yield
            seen.append(f"rank {rank}")

        def called(self, function: Any) -> Any:
            return lambda: function() + 1

        def of_run(self) -> dict[str, Any]:
            return {"engine_used": "watched"}

    report = sim.run(step, 3, with_=[lambda stage: Watch()])
    assert report.results == [65.0] * 3 and report.engine_used == "watched"
    assert (seen[0], sorted(seen[1:-1]), seen[-1]) == ("begin", ["rank 0", "rank 1", "rank 2"], "end")


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"with_": [sim.memory(1), sim.memory(2)]}, ValueError, "one memory attaches"),
        ({"with_": [sim.gpu("H100-SXM")], "device": "A100-80-SXM"}, ValueError, "one device"),
        ({"with_": [sim.timelines(), 3]}, TypeError, "not 3"),
        ({"with_": [sim.timelines]}, TypeError, r"make one of WithTimelines"),
        ({"with_": sim.timelines()}, TypeError, r"with_ is a list of what attaches"),
        ({"with_": [sim.timelines()], "journal": "x.mtd"}, ValueError, "say one of them"),
        ({"with_": [sim.folded()]}, ValueError, "needs shapes=True"),
        ({"with_": [sim.folded(), sim.shapes(), sim.journal("x")]}, ValueError, "a journal"),
    ],
)
def test_what_cannot_attach_is_refused(keywords: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        sim.run(step, 2, **keywords)
