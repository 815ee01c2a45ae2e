"""Stepping through a run, both ways."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import journal
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.pictures.terminal import painted
from mtd import cli
from mtd.cli import forking, player
from mtd.cli.player import Player
from tests.journal.programs import everything, ring
from tests.pictures.scenes import empty, ping

NET = sim.uniform("5us", "10Gb/s")


def recorded(folder: Path, fn: object, size: int, **how: object) -> journal.Journal:
    sim.run(fn, size, net=NET, journal=folder / "run.mtd", **how)  # type: ignore[arg-type]
    return journal.read(folder / "run.mtd")


def test_frames_to_the_letter() -> None:
    walk = Player(ping())
    assert (
        walk.frame(50).plain()
        == """\
ping

rank 0  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓●·························



rank 1  ░░░░░░░░░░░░░░░░▒·························

        │                    │
        0                    50 ps

1 of 2, 40 ps
rank 0 sends"""
    )
    assert walk.press("n") and walk.press("n")  # there is no third
    assert (
        walk.frame(50).plain()
        == """\
ping

rank 0  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓●━━━━━━━━·················
                         ───╲
                             ───╲
                                 ────╲───
rank 1  ░░░░░░░░░░░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒●········

        │                    │
        0                    50 ps

2 of 2, 80 ps; rank 1 holds 64 B
rank 1 receives"""
    )


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_back_is_where_one_came_from(size: int, tmp_path: Path) -> None:
    walk = Player(recorded(tmp_path, everything, size).scene())
    last = len(walk.scene.moments) - 1
    seen = [walk.frame().plain()]
    for _ in range(min(last, 60)):
        walk.press("n")
        seen.append(walk.frame().plain())
    for before in reversed(seen[:-1]):
        walk.press("left")
        assert walk.frame().plain() == before
    walk.press("G")
    assert walk.step == last and repr(walk) == f"<Player at {last + 1} of {last + 1} events>"
    walk.press("P")
    assert walk.step == max(last - 10, 0)
    walk.press("g")
    assert walk.step == 0


def test_closer_and_the_same_rank(tmp_path: Path) -> None:
    walk = Player(recorded(tmp_path, ring, 4).scene())
    lane = walk.scene.moments[0].lane
    walk.press("r")
    assert walk.step > 0 and walk.scene.moments[walk.step].lane == lane
    whole = walk.window()
    for _ in range(20):
        walk.press("+")
        low, high = walk.window()
        assert whole[0] <= low <= walk.scene.moments[walk.step].at <= high <= whole[1]
        for step in range(0, len(walk.scene.moments), 5):
            walk.step = step
            assert all(len(line) <= 80 for line in walk.frame(80).lines)
        walk.step = 0
    for _ in range(20):
        walk.press("-")
    assert walk.window() == whole
    walk.press("?")
    assert "the next event" in walk.frame().plain()


def test_nothing_to_step_through() -> None:
    walk = Player(empty())
    for key in "npNPgGr+-fhu":
        assert walk.press(key)
        assert "nothing happened" in walk.frame().plain()
    assert not walk.press("q")


def first_come() -> list[float]:
    """Rank 0 takes from anybody; by the wires rank 1 comes first."""
    rank = dist.get_rank()
    if rank == 0:
        found, x = [], torch.zeros(1)
        for _ in range(dist.get_world_size() - 1):
            dist.recv(x)
            found.append(float(x[0].item()))
        return found
    sim.compute(f"{rank}us")
    dist.send(torch.ones(1) * rank, 0)
    return []


def test_what_if_it_had_come_first(tmp_path: Path) -> None:
    run = recorded(tmp_path, first_come, 4)
    received = [n for n, e in enumerate(run.events) if e.what == "receive"]
    assert [run.events[n].peer for n in received] == [1, 2, 3]
    for event, expected in zip(received[1:], ([2.0, 1.0, 3.0], [3.0, 1.0, 2.0]), strict=True):
        report = forking.fork(first_come, run, event, 4, net=NET, journal=tmp_path / "forked.mtd")
        assert report.results[0] == expected
        other = journal.read(tmp_path / "forked.mtd")
        found = run.diff(other)
        assert found is not None and found.one is not None and found.other is not None
        assert (found.one.what, found.one.peer, found.other.peer) == ("receive", 1, expected[0])
    with pytest.raises(ValueError, match="it came first already: rank 1 sends"):
        forking.come_first(run, received[0])
    with pytest.raises(ValueError, match="no message that was received: rank 1 computes"):
        forking.come_first(run, next(n for n, e in enumerate(run.events) if e.what == "compute"))


def test_the_player_forks_and_comes_back(tmp_path: Path) -> None:
    run = recorded(tmp_path, first_come, 3)

    def fork(event: int) -> Scene | str:
        try:
            forking.fork(first_come, run, event, 3, net=NET, journal=tmp_path / "other.mtd")
        except ValueError as error:
            return str(error)
        return journal.read(tmp_path / "other.mtd").scene()

    walk = Player(run.scene(), fork)
    walk.step = next(n for n, m in enumerate(walk.scene.moments) if "receives 4 bytes from rank 2" in m.text)
    before = walk.scene
    walk.press("f")
    assert walk.scene is not before and "u goes back" in walk.frame().plain()
    walk.press("u")
    assert walk.scene is before
    walk.press("g")
    walk.press("f")
    assert "no message" in walk.said


def test_on_a_dumb_terminal_without_colours(tmp_path: Path) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(file=out, width=80, highlight=False)
    keys = iter(["", "", "p", "f", "q", "n"])
    left = player.play(recorded(tmp_path, ring, 3).scene(), None, console, keys)
    out.flush()
    shown = out.buffer.getvalue().decode("ascii")  # type: ignore[attr-defined]
    assert left.step == 1 and next(keys) == "n" and "\x1b" not in shown
    assert shown.count("n next  p back") == 5 and "no program is at hand" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_show_steps_by_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(tmp_path, first_come, 3)
    monkeypatch.setattr(sys, "stdin", io.StringIO("G\nf\n\x1b[D\nq\n"))
    assert cli.main(["show", str(tmp_path / "run.mtd"), "--step"]) == 0
    out = capsys.readouterr().out
    assert "it comes first in the same sim.run with faults=['delay=1>0#0," in out.replace("\n", "")


@pytest.mark.slow
def test_keys_in_a_terminal(tmp_path: Path) -> None:
    """In a pseudo terminal: arrows step, q leaves, and the terminal is as it was."""
    recorded(tmp_path, ring, 3)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mtd", "show", str(tmp_path / "run.mtd"), "--step"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"},
    )
    shown, frames = b"", []
    try:
        for key in (b"n", b"\x1b[D", b"q"):
            while b"q quit" not in shown:
                assert select.select([ours], [], [], 60)[0], shown
                shown += os.read(ours, 1 << 16)
            frame, _, shown = shown.partition(b"q quit")
            frames.append(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", frame.decode()).split())
            os.write(ours, key)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
    first, second = (frame[frame.index("of") - 1] for frame in frames[:2])
    assert (first, second) == ("1", "2")
    assert frames[2] == frames[0] != frames[1]
    assert process.returncode == 0


def test_colours_where_there_are_some() -> None:
    shown = []
    for how in ({"force_terminal": True, "color_system": "standard"}, {"color_system": None}):
        console = Console(file=io.StringIO(), width=60, highlight=False, **how)  # type: ignore[arg-type]
        picture = Player(ping()).frame(60)
        console.print(painted(picture, ping(), console))
        shown.append(console.file.getvalue())  # type: ignore[attr-defined]
    coloured, plain = shown
    assert "\x1b[34m●" in coloured and "● broadcast" in coloured
    assert "\x1b" not in plain and "● broadcast" not in plain and picture.plain() in plain


def test_a_remark_is_wrapped_and_says_why_a_run_cannot_be_made_again() -> None:
    """Whether the run was simulated is not known here: no program is."""
    walk = Player(ping())
    walk.press("f")
    lines = walk.frame(60).lines
    assert "no program is at hand" in " ".join(lines) and max(map(len, lines)) <= 60
    assert "use mtd.cli.forking for a simulated one" in " ".join(lines)
