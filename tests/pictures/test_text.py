"""Pictures in the terminal, to the letter."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from minitorch_dist import sim
from minitorch_dist.distributed import journal
from minitorch_dist.pictures import spacetime
from minitorch_dist.pictures.scene import OPERATION, LaneSpan, Scene
from mtd import cli
from mtd.cli import bars
from tests.journal.programs import ring, sum_by
from tests.pictures.scenes import empty, ping

NET = sim.uniform("5us", "10Gb/s")


def test_a_ping() -> None:
    assert (
        spacetime.draw(ping(), 58).plain()
        == """\
ping

rank 0  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓●━━━━━━━━━····················
                             ────╲
                                  ────╲
                                       ────╲────
rank 1  ░░░░░░░░░░░░░░░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒●╌╌╌╌╌╌╌╌╌

        │                        │
        0                        50 ps"""
    )


def test_one_that_was_lost() -> None:
    picture = spacetime.draw(ping(lost=True), 40, gap=2).plain(only_ascii=True)
    assert (
        picture
        == """\
ping

rank 0  ############o=====x.............
                     ---\\
                         ----\\---x
rank 1  ------------++++++++++++++~~~~~~

        |
        0"""
    )
    assert picture.isascii()


def test_where_the_time_went() -> None:
    assert (
        bars.gantt(ping(), 66).plain()
        == """\
                                                  comp  comm  wait
rank 0  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓━━━━━━━━················   40%   20%    0%
rank 1  ░░░░░░░░░░░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒╌╌╌╌╌╌╌╌    0%   40%   40%

        ▓ computes  ━ communicates  ▒ waits for what is on its way
        ░ waits, and nothing is on its way  ╌ beside  · neither
        100 ps in all"""
    )


def test_what_was_held() -> None:
    assert (
        bars.memory(ping(), 60).plain()
        == """\
memory: bytes nobody had taken

rank 1                                  ████           64 B

        █ is 64 B; at the right the most of each"""
    )
    assert bars.memory(empty()).plain() == "memory: nothing was recorded"


def test_a_ring_goes_round(tmp_path: Path) -> None:
    sim.run(sum_by, 3, ("ring", 3000), net=NET, journal=tmp_path / "run.mtd")
    assert (
        spacetime.draw(journal.read(tmp_path / "run.mtd").scene(), 60).plain()
        == """\
run.mtd

rank 0  ●▒▒▒▒▒▒▒▒▒▒▒▒●▒▒▒▒▒▒▒▒▒▒▒▒●▒▒▒▒▒▒▒▒▒▒▒▒●▒▒▒▒▒▒▒▒▒▒▒●
         ──╲       ╱─ ──╲       ╱─ ──╲       ╱─ ──╲      ╱─
            ──╲  ─╱      ──╲  ─╱      ──╲  ─╱      ──╲  ╱
               ─╱─╲──       ─╱─╲──       ─╱─╲──       ─╱╲──
rank 1  ●▒▒▒▒▒▒▒▒▒▒▒▒●▒▒▒▒▒▒▒▒▒▒▒▒●▒▒▒▒▒▒▒▒▒▒▒▒●▒▒▒▒▒▒▒▒▒▒▒●
         ──╲─╱        ──╲─╱        ──╲─╱        ──╲╱
           ╱──╲         ╱──╲         ╱──╲         ╱──╲
         ─╱    ───╲── ─╱    ───╲── ─╱    ───╲── ─╱    ──╲──
rank 2  ●▒▒▒▒▒▒▒▒▒▒▒▒●▒▒▒▒▒▒▒▒▒▒▒▒●▒▒▒▒▒▒▒▒▒▒▒▒●▒▒▒▒▒▒▒▒▒▒▒●

        │              │               │               │
        0              10 µs           20 µs           30 µs"""
    )


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("size", [2, 3, 8, 20])
def test_nothing_is_wider_than_the_terminal(width: int, size: int, tmp_path: Path) -> None:
    sim.run(ring, size, (2,), net=NET, journal=tmp_path / "run.mtd")
    scene = journal.read(tmp_path / "run.mtd").scene()
    for picture in (spacetime.draw(scene, width), bars.gantt(scene, width)):
        rows = [line for line in picture.lines if line.startswith("rank")]
        assert rows and all(len(row) <= max(width, 38) for row in rows)
        for row, column, _ in picture.paint:
            assert picture.lines[row][column] != " "


@pytest.mark.parametrize("scene", [empty(), ping(), ping(lost=True)])
@pytest.mark.parametrize("width", [1, 10, 33])
def test_odd_sizes(scene: object, width: int) -> None:
    for draw in (spacetime.draw, bars.gantt, bars.memory):
        assert isinstance(draw(scene, width).plain(), str)  # type: ignore[operator]


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "run.mtd")
    sim.run(sum_by, 4, ("ring", 3000), net=NET, journal=path)
    assert cli.main(["show", path]) == 0
    out = capsys.readouterr().out
    assert "Journal of 4 ranks over sim" in out and "▒▒▒●" in out and "comp  comm  wait" in out
    assert max(map(len, out.splitlines())) <= 80 and "\x1b" not in out
    assert cli.main(["show", path, "--chunks"]) == 0
    out = capsys.readouterr().out
    assert "ring all_reduce, 4 ranks" in out and "abcd abcd abcd abcd" in out
    assert "all_reduce #0 (float32[3000], SUM) of group 'default_pg' at programs.py" in out
    assert cli.main(["show", path, "--gantt", "--ranks", "1-2"]) == 0
    assert [line[:6] for line in capsys.readouterr().out.splitlines()[1:4]] == ["rank 1", "rank 2", ""]


@pytest.mark.parametrize(
    ("words", "says"), [(["--ranks", "9"], "there is no lane 9"), (["--group", "x"], "no group 'x' did anything")]
)
def test_what_cannot_be_shown(words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", str(tmp_path / "none")]) == 2
    assert "there is no journal" in capsys.readouterr().err
    sim.run(ring, 3, journal=tmp_path / "run.mtd")
    assert cli.main(["show", str(tmp_path / "run.mtd"), *words]) == 2
    assert says in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["show", str(tmp_path / "run.mtd"), "--ranks", "a-b"])


def test_lanes_with_wide_names_stay_in_line() -> None:
    """A name may be wider than it has letters; where its line begins is a matter of columns."""
    scene = Scene(
        "",
        ["Ada", "张伟张伟"],
        [LaneSpan(0, 0, 9, OPERATION, "sum", "", ""), LaneSpan(1, 0, 9, OPERATION, "sum", "", "")],
    )
    picture = spacetime.draw(scene, 40, gap=0)
    first, second = picture.lines[2:4]
    assert cell_len(first) == cell_len(second) == 40
    for row, column, _ in picture.paint:
        assert picture.lines[row][column] == "━", (row, column)
