"""`mtd diff`."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitorch_dist import sim
from mtd import cli
from tests.journal.programs import ring, sum_by


def test_equal_and_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = (str(tmp_path / name) for name in "abc")
    sim.run(ring, 3, (2,), journal=a)
    sim.run(ring, 3, (2,), seed=4, net="sim://?latency=1ms", journal=b)
    sim.run(ring, 3, (2, 1), journal=c)
    assert cli.main(["diff", a, b]) == 0
    assert "equal: the same events in the same partial order" in capsys.readouterr().out
    assert cli.main(["diff", a, c]) == 1
    *_, one, other = capsys.readouterr().out.splitlines()
    assert one.startswith("  a  rank ") and other.startswith("  b  rank ")
    assert "with tag 5" in other and one.count("programs.py:") == other.count("programs.py:") == 1


def test_only_operations(tmp_path: Path) -> None:
    for name in ("ring", "recursive_doubling"):
        sim.run(sum_by, 4, (name,), journal=tmp_path / name)
    given = [str(tmp_path / "ring"), str(tmp_path / "recursive_doubling")]
    assert cli.main(["diff", *given]) == 1
    assert cli.main(["diff", "--operations", *given]) == 0


def test_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("x = 1\n")
    assert cli.main(["diff", str(tmp_path / "x"), str(tmp_path / "y")]) == 2
    assert "mtd diff: " in capsys.readouterr().err
