"""`mtd run`, `mtd replay` and `mtd zoo`, as typed."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from mtd import zoo
from mtd.cli import main
from mtd.cli.bench import sim

SCRIPT = """
import sys
import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
x = torch.ones(2) * (rank + 1)
dist.all_reduce(x)
if "--race" in sys.argv:
    if rank:
        sim.compute(rank * 1e-5)
        dist.send(x, 0)
    for expected in range(1, size if rank == 0 else 1):
        came = dist.recv(torch.zeros(2))
        assert came == expected, f"rank {came} came instead of {expected}"
if rank == 0:
    print("sum", x[0].item(), "script", __name__, sys.argv[1:])
dist.destroy_process_group()
sys.exit(0)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.argv", ["mtd"])
    monkeypatch.setattr("sys.path", [".", *sys.path])
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    return str(file)


def test_run_explore_and_replay(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--ranks", "3", script, "--lr", "1"]) == 0
    said = capsys.readouterr().out
    assert "sum 6.0 script __main__ ['--lr', '1']" in said and "3 ranks, " in said
    assert main(["run", "--ranks", "3", "--seeds", "50", script, "--race"]) == 1
    said = capsys.readouterr().err
    assert "came instead of" in said and "again: mtd replay 'mtd1:seed=" in said
    token = said.partition("mtd replay '")[2].partition("'")[0]
    assert main(["replay", token, script, "--race"]) == 1
    again = capsys.readouterr().err
    line = next(n for n, text in enumerate(SCRIPT.splitlines(), 1) if "assert" in text)
    assert f"AssertionError, at train.py:{line}: rank " in again
    assert main(["replay", token, script]) == 0  # without the race
    assert "It does not fail" in capsys.readouterr().out
    assert main(["run", "--ranks", "3", "--seeds", "3", script]) == 0


def test_faults_from_a_file_or_a_text(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.txt"
    plan.write_text("# late\ndelay=3ms\n\nslow=1,x=2\n")
    for text in (str(plan), "delay=3ms;slow=1,x=2"):
        assert main(["run", "--ranks", "2", "--faults", text, script]) == 0
        assert "3.005 ms" in capsys.readouterr().out
    assert main(["run", "--ranks", "2", "--faults", "cut=0>1#0", script]) == 1
    assert "PeerLost" in capsys.readouterr().err
    lost = ["run", "--ranks", "2", "--unreliable", "--faults", "drop=0>1#0", script]
    assert main(lost) == 1
    assert "message 0 from rank 0 to rank 1 was lost" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "nowhere.py"], "there is no script 'nowhere.py'"),
        (["run", "--faults", "explode=1", "SCRIPT"], "'explode=1' is not a fault"),
        (["run", "--ranks", "2", "--faults", "slow=2,x=2", "SCRIPT"], "in a world of 2"),
        (["replay", "seed=3", "SCRIPT"], "is no replay token"),
    ],
)
def test_what_is_typed_wrong_is_said(
    words: list[str], said: str, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([script if word == "SCRIPT" else word for word in words]) == 2
    assert said in capsys.readouterr().err


def test_an_exit_code_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.py"
    file.write_text("import sys\nsys.exit(3)\n")
    assert main(["run", "--ranks", "1", str(file)]) == 1
    assert "ended with sys.exit(3)" in capsys.readouterr().err


def test_the_zoo(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["zoo"]) == 0
    assert all(name in capsys.readouterr().out for name in zoo.NAMES[:1])
    assert main(["zoo", "torchrec_4149"]) == 0
    said = capsys.readouterr().out
    assert "def hang()" in said and "Deadlock: deadlock at" in said and "mesh_shard" in said


@pytest.mark.slow
def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    """mtd zoo sglang_33289 | head -1"""
    command = [sys.executable, "-m", "mtd", "zoo", "sglang_33289"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize(
    "net", ["sim", "queue", "sim://?latency=1us", "two_level:nodes=2,gpus=2,intra=2us/150GB/s,inter=5us/100Gb/s"]
)
def test_networks_by_name(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "say.py"
    script.write_text("import minitorch_dist.distributed as dist\nprint('rank', dist.get_rank())\n")
    assert main(["run", "--ranks", "4", "--net", net, str(script)]) == 0
    out = capsys.readouterr().out
    assert all(f"rank {rank}\n" in out for rank in range(4))
    assert ("engine" in out) == (net != "queue")  # the report of a simulation


def test_a_network_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "say.py"
    script.write_text("")
    assert main(["run", "--net", "tpc", str(script)]) == 2
    assert "no network is called 'tpc' (perhaps tcp" in capsys.readouterr().err
    assert main(["run", "--net", "tpc://", str(script)]) == 2
    assert "tcp" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["simulate", "all_redce"], "perhaps all_reduce"),
        (["simulate", "all_reduce", "--algorithm", "rng"], "perhaps ring"),
        (["simulate", "all_reduce", "--net", "two_level:nodes=2"], "gpus=, intra=, inter= is missing"),
        (["simulate", "all_reduce", "--ranks", "0"], "at least one rank, not 0"),
        (["papers", "goyl"], "perhaps goyal"),
        (["run", "--ranks", "0", "say.py"], "at least one rank, not 0"),
        (["run", "--hard", "ox", "say.py"], "no hardship is called x; there are o (order)"),
        (["run", "--faults", "drp=0.1", "say.py"], "perhaps drop"),
        (["run", "sai.py"], "perhaps say.py"),
        (["run", "."], "'.' is a folder"),
        (["replay", "mtd1:seed=1", "say.py"], "how many ranks"),
        (["verify", "queue://", "--net", "none.json"], "there is no file 'none.json'"),
        (["calibrate", "queue://", "--rounds", "0"], "at least one round"),
        (["show", "none"], "there is no journal none"),
        (["diff", "none", "none"], "there is no journal none"),
    ],
)
def test_what_cannot_be_is_said_in_eighty_columns(
    words: list[str], near: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("say.py").write_text("")
    monkeypatch.setenv("COLUMNS", "80")
    try:
        status = main(words)
    except SystemExit as end:  # argparse
        status = int(end.code or 0)
    said = capsys.readouterr()
    assert status == 2 and not said.out
    assert near in " ".join(said.err.split()) and max(map(len, said.err.split("\n"))) <= 80


def test_a_terminal_that_knows_only_ascii(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    for words in (["simulate", "all_reduce"], ["run", str(script)], ["papers", "goyal"], ["zoo", "pytorch_90339"]):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
        assert main(words) == 0
        said = written.getvalue().decode("ascii")
        assert len(said) > 100 and "?" not in said


def test_options_behind_the_script_are_the_scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "say.py"
    script.write_text("import sys\nprint(sys.argv[1:])\n")
    assert main(["run", "--ranks", "2", str(script), "--net", "tcp"]) == 0
    told = capsys.readouterr()
    assert "['--net', 'tcp']" in told.out
    assert "mtd run: --net stands behind the script" in told.err
    assert main(["run", "--ranks", "2", str(script), "--epochs", "3"]) == 0
    assert capsys.readouterr().err == ""


def test_simgrid_stands_beside_us_only_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sim, "SYSTEM_PYTHON", str(tmp_path / "none"))
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    assert list(sim.beside(4, 3)) == []
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 42.5\n")
    python.chmod(0o700)
    monkeypatch.setattr(sim, "SYSTEM_PYTHON", str(python))
    (line,) = sim.beside(4, 3)
    assert line.found == 42.5 and line.holds and "4 ranks" in line.what
    python.write_text("#!/bin/sh\nexit 1\n")
    assert list(sim.beside(4, 3)) == []
