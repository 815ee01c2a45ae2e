"""A schedule is named by its file, wherever an algorithm is named; a wrong file says what is wrong, and where."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules import ScheduleError, choice, domain
from minitorch_dist.distributed.schedules.schedule import COLLECTIVES
from minitorch_dist.launching import launch
from mtd.cli import main

HEAD = """import minitorch_dist.distributed as dist
from minitorch_dist.distributed.schedules.schedule import powers_of_two
from minitorch_dist.distributed.schedules.steps import Exchange
"""
DOUBLING = """
@dist.register_schedule("all_reduce", "swaps", chunks=lambda size, **_: 1, domain=powers_of_two, turns=1)
def swaps(rank, size, turns):
    for bit in range((size - 1).bit_length()):
        yield Exchange(rank ^ (1 << bit), 0, rank ^ (1 << bit), 0, reduce=True)
"""
RING = """
def all_gather(rank, size):
    for step in range(size - 1):
        yield Exchange((rank + 1) % size, (rank - step) % size, (rank - 1) % size, (rank - step - 1) % size)
"""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ["", *[f"{collective.upper()}_" for collective in COLLECTIVES]]:
        monkeypatch.delenv(f"MINITORCH_DIST_{name}ALGORITHM", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(HEAD + DOUBLING + RING)
    return path


def summed(algorithm: str | None = None) -> list[float]:
    x = torch.ones(3) * 2.0 ** dist.get_rank()
    dist.all_reduce(x, algorithm=algorithm)
    return x.tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("size", [1, 2, 8])
def test_a_file_is_an_algorithm(file: Path, size: int) -> None:
    for given in (f"{file}", f"{file}:swaps", f"{file}:swaps:turns=2", f"{file}:turns=3"):
        assert sim.run(summed, size, args=(given,)).results == [[2.0**size - 1] * 3] * size
        assert launch(summed, size, "queue://", args=(given,), timeout=300) == [[2.0**size - 1] * 3] * size


def test_it_is_known_by_its_file_only(file: Path) -> None:
    before = len(choice.changes)
    assert choice.named("all_reduce", f"{file}").name == "swaps"
    assert choice.named("all_gather", f"{file}").name == "mine"
    assert "swaps" not in choice.known("all_reduce") and len(choice.changes) == before
    assert choice.named("all_reduce", f"{file}") is choice.named("all_reduce", f"{file}:swaps")
    with pytest.raises(ValueError, match=r"no algorithm '.*mine.py' for broadcast; there are auto"):
        choice.named("broadcast", f"{file}")
    with pytest.raises(ScheduleError, match="has no schedule 'ring'; it has swaps, mine"):
        choice.named("all_reduce", f"{file}:ring")
    with pytest.raises(TypeError, match="has no option pieces; it has turns"):
        choice.named("all_reduce", f"{file}:pieces=2")


def test_the_environment_names_it_for_what_it_has(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_ALGORITHM", str(file))
    assert choice.choose("all_reduce", 4, 64).name == "swaps"
    assert choice.choose("all_gather", 3, 64).name == "mine"
    assert choice.choose("broadcast", 4, 64).name == "binomial"
    with pytest.raises(ScheduleError, match="is made for powers of two, and not for 3 ranks"):
        choice.choose("all_reduce", 3, 64)


def test_a_file_that_changed_is_read_again(file: Path) -> None:
    assert choice.named("all_reduce", f"{file}").total(4) == 1
    file.write_text(
        HEAD
        + DOUBLING.replace("lambda size, **_: 1", "lambda size, **_: 2")
        .replace("0, rank ^", "(0, 1), rank ^")
        .replace("0, reduce", "(0, 1), reduce")
    )
    os.utime(file, ns=(1, 1))
    assert choice.named("all_reduce", f"{file}").total(4) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", r"wrong.py has no schedule: write def all_reduce"),
        ("x =", r"wrong.py:1: SyntaxError"),
        ("\n\nimport nothing_there", r"wrong.py:3: ModuleNotFoundError"),
        ("raise SystemExit(3)", r"wrong.py:1: SystemExit: 3"),
        (
            HEAD + DOUBLING.replace("domain=powers_of_two, ", ""),
            r"wrong.py:5: swaps all_reduce \(turns=1\) with 3 ranks: ",
        ),
        (HEAD + DOUBLING.replace("reduce=True", "reduce=False"), r"with 2 ranks: element 0 on rank 0 lacks rank 0"),
        (
            HEAD + DOUBLING.replace("powers_of_two, turns", "[512], turns"),
            r"is for 512 ranks: for no number of ranks up to 256",
        ),
        (HEAD + DOUBLING.replace("powers_of_two, turns", "[2, 3], turns"), r"with 3 ranks"),
        (HEAD + DOUBLING.replace('"all_reduce"', '"all_redcue"'), r"a schedule for 'all_redcue': expected one of"),
        ("\0", r"wrong.py"),
    ],
)
def test_a_wrong_file_says_what_and_where(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(text)
    with pytest.raises(ScheduleError, match=said):
        choice.named("all_reduce", str(path))


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ScheduleError, match=r"there is no file .*none.py: No such file"):
        choice.named("all_reduce", f"{tmp_path / 'none.py'}")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(ScheduleError, match=r"folder.py is no file"):
        choice.named("all_reduce", f"{tmp_path / 'folder.py'}")


# ---------------------------------------------------------------------------------------- domains


def test_a_domain_is_data(file: Path) -> None:
    swaps = choice.named("all_reduce", f"{file}")
    assert [size for size in range(1, 20) if swaps.serves(size)] == [1, 2, 4, 8, 16]
    assert swaps.domain_in_words == "powers of two"
    assert domain.usual_sizes(swaps) == (1, 2, 4, 8) and domain.usual_sizes(swaps, 40)[-1] == 32
    listed = dist.register_schedule("all_reduce", "listed", lambda size: 1, domain=[16, 4])(
        lambda rank, size: swaps.steps(rank, size, turns=1)
    )
    choice.forget_schedule("all_reduce", "listed")
    assert listed.domain_in_words == "4 and 16 ranks" and domain.usual_sizes(listed) == (4,)
    assert not domain.may_run(listed, 8) and domain.may_run(listed, 16)
    with pytest.raises(ScheduleError, match="is made for 4 and 16 ranks, and not for 3 ranks"):
        domain.register(listed, [3])


# --------------------------------------------------------------------------------------- commands


def test_commands_take_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "all_reduce", "--ranks", "8", "--algorithm", str(file)]) == 0
    said = capsys.readouterr().out
    assert "swaps:turns=1" in said and "rabenseifner" in said
    assert main(["simulate", "all_reduce", "--ranks", "12", "--algorithm", str(file)]) == 2
    assert "is made for powers of two" in " ".join(capsys.readouterr().err.split())
    file.write_text(HEAD + DOUBLING)
    assert main(["contest", f"{file}", "--ranks", "12"]) == 2
    assert "and not for 12 ranks; try --ranks 8 or 16" in " ".join(capsys.readouterr().err.split())


def test_a_contest_of_powers_of_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "swaps.py"
    path.write_text(HEAD + DOUBLING)
    assert main(["contest", str(path), "--ranks", "16"]) == 0
    said = capsys.readouterr().out
    assert "Place " in said and "swing" in said and "circulant" in said


@pytest.mark.parametrize(
    ("words", "status"), [(["mtd", "run", "--ranks", "4"], 0), (["mtd", "run", "--ranks", "3"], 1)]
)
def test_a_run_takes_one(file: Path, tmp_path: Path, words: list[str], status: int) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import minitorch_dist as torch, minitorch_dist.distributed as dist\ndist.init_process_group()\n"
        "x = torch.ones(2)\ndist.all_reduce(x)\nassert x.tolist() == [dist.get_world_size()] * 2\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", *words[:1], *words[1:], "--algorithm", "mine.py", "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    assert done.returncode == status, done.stderr
    assert ("made for powers of two" in done.stderr) == bool(status)


@pytest.mark.spawn
@pytest.mark.slow
def test_a_launcher_takes_one(file: Path, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import minitorch_dist as torch, minitorch_dist.distributed as dist\ndist.init_process_group()\n"
        "from minitorch_dist.distributed.schedules import choice\nx = torch.ones(2)\ndist.all_reduce(x)\n"
        "assert x.tolist() == [2, 2] and choice.choose('all_reduce', 2, 8).name == 'swaps'\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "minitorch_dist.distributed.run", "--standalone", "--nproc-per-node", "2",
         "--algorithm", "mine.py", "train.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_plan_keeps_its_rows_apart(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_ALGORITHM", "")
    assert choice.preferred() == []
    choice.prefer("ring")
    assert choice.preferred() == ["ring"]
    choice.prefer(f"{file}:swaps")
    before = choice.preferred()
    file.write_text(file.read_text() + "\n")
    assert before[0] == f"{file}:swaps" and choice.preferred()[1] != before[1]
    with pytest.raises(ValueError, match="no collective has an algorithm 'rign'"):
        choice.prefer("rign")
