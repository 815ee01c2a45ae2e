"""Ranks share a console, and each of their lines is whole on it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.multiprocessing.lines import LONGEST, WholeLines, whole_lines

PIECES = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["", "x", "xx", "\n", "x\n", "\nx", "x\nx\n"])))


@given(PIECES)
def test_each_line_is_of_one_owner_and_all_are_there_in_order(pieces: list[tuple[int, str]]) -> None:
    seen, who, texts = io.StringIO(), [0], ["", "", ""]
    lines = WholeLines(seen, lambda: who[0])
    for owner, text in pieces:
        who[0], said = owner, text.replace("x", "abc"[owner])
        texts[owner] += said
        assert lines.write(said) == len(said)
    assert seen.getvalue().count("\n") == "".join(texts).count("\n"), "no line waits that has ended"
    lines.end_all()
    shown = seen.getvalue().splitlines()
    assert all(len(set(line)) <= 1 for line in shown)
    for letter, text in zip("abc", texts, strict=True):
        assert [line for line in shown if letter in line] == [*filter(None, text.splitlines())]


def test_a_prompt_a_flush_and_a_very_long_line_do_not_wait() -> None:
    seen = io.StringIO()
    lines = WholeLines(seen, lambda: None)
    print("your name? ", end="", file=lines, flush=True)
    assert seen.getvalue() == "your name? "
    lines.write("x" * (LONGEST + 1))
    assert len(seen.getvalue()) == 11 + LONGEST + 1
    with pytest.raises(TypeError, match="must be str, not bytes"):
        lines.write(b"")  # type: ignore[arg-type]
    assert not lines.isatty() and "StringIO" in repr(lines)


def test_the_streams_of_before_come_back_and_one_of_the_program_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    before, own = sys.stdout, io.StringIO()
    with whole_lines(lambda: None):
        print("begun", end="")
        with whole_lines(lambda: 1):
            assert isinstance(sys.stdout, WholeLines) and sys.stdout.stream is before
        assert sys.stdout is not before
    assert sys.stdout is before
    with whole_lines(lambda: None):
        monkeypatch.setattr(sys, "stdout", own)
    assert sys.stdout is own


def apart() -> None:
    """Rank 0 begins a line, then all others write theirs, then it ends its own."""
    rank = dist.get_rank()
    for turn in range(2):
        if rank == 0:
            sys.stdout.write(f"begun {turn} ")
        dist.barrier()
        if rank:
            print("a whole line of", rank)
        dist.barrier()
        if rank == 0:
            print("and ended")
    sys.stdout.write(f"without an end {rank}")


def expected(size: int) -> list[str]:
    others = [f"a whole line of {rank}" for rank in range(1, size) for _ in range(2)]
    ends = [f"without an end {rank}" for rank in range(size)]
    return sorted(["begun 0 and ended", "begun 1 and ended", *others, *ends])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_ranks_that_are_threads(transport: str, size: int, capsys: pytest.CaptureFixture[str]) -> None:
    torch.launch(apart, size, transport)
    print("report")
    *lines, last = capsys.readouterr().out.splitlines()
    assert sorted(lines) == expected(size) and last == "report"


SCRIPT = """
import sys
import minitorch_dist as torch, minitorch_dist.distributed as dist
from minitorch_dist.multiprocessing import spawn
from tests.launching.test_lines import apart
if __name__ == "__main__":
    if sys.argv[1:]:
        torch.launch(apart, 3, sys.argv[1])
    else:
        dist.init_process_group("tcp")
        apart()
        print()
        dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.spawn
@pytest.mark.parametrize(
    "words",
    [
        "-u SCRIPT tcp://",
        "-u SCRIPT file://",
        "-m minitorch_dist.distributed.run --standalone --nproc-per-node 3 SCRIPT",
        "-u -m mtd run --ranks 3 --net tcp SCRIPT",
    ],
)
def test_ranks_that_are_processes(words: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, *words.replace("SCRIPT", str(script)).split()],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert sorted(ended.stdout.splitlines()) == expected(3)
