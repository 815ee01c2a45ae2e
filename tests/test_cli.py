"""`mtd` as a person meets it: help, a wrong word, the demo, the benchmark, the pictures."""

from __future__ import annotations

import configparser
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mtd.cli import COMMANDS, demo, main, of_checkout, plots, scripts
from mtd.cli.bench import __main__ as bench, comm, comm_brokers, command, turns, worlds
from tests.transports.brokers import KEY, KINDS, Broker
from transports import keys


def test_its_help_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)
    assert out.count("\n") <= 23 and max(map(len, out.split("\n"))) < 80  # and a prompt
    assert main(["help"]) == 0 and capsys.readouterr().out == out
    assert main(["help", "all"]) == 0
    whole = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {said}" in whole for name, said in COMMANDS.items())
    assert main(["help", "chek"]) == 2 and "mtd help all" in capsys.readouterr().err


def test_the_package_can_be_run_by_name() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mtd", "--help"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert "demo" in done.stdout


@pytest.mark.parametrize("program", ["mtd", "minitorch_dist.distributed.run"])
def test_programs_say_their_version(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", program, "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    released = configparser.ConfigParser()
    released.read(Path(__file__).parents[1] / "setup.cfg")
    assert done.stdout == f"minitorch_dist {released['metadata']['version']}\n"


def test_a_wrong_word_is_refused_and_the_right_ones_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["dmeo"])
    assert left.value.code == 2 and "demo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("chek", "no command 'chek' (perhaps check?)"),
        ("simulate all_redce", "(perhaps all_reduce"),
        ("zoo sglang_3328", "(perhaps sglang_33289?); it is one of sglang_33289, torchrec_4149"),
        ("game netwrk", "no game 'netwrk' (perhaps network?)"),
        ("game", "rank be rank 2 of 4, and race the ring"),
        ("use", "lesson is missing: 13, ring or 13_ring"),
        ("check 1 --onli right", "no option --onli (perhaps --only"),
        ("game network 1 --prr", "mtd game network: there is no option --prr (perhaps --par?)"),
        ("check 1 2", "'2' is one word too many"),
        ("simulate all_reduce --ranks many", "--ranks is a whole number, not 'many'"),
        ("contest --ranks", "--ranks: it takes a value"),
        ("run", "script is missing: the file that every rank runs"),
    ],
)
def test_what_cannot_be_understood_is_told_in_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as left:
        main(words.split())
    found = capsys.readouterr().err
    assert left.value.code == 2 and said in " ".join(found.split())
    assert "usage:" not in found and max(map(len, found.split("\n"))) <= 80


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0 and COMMANDS[name][:20] in capsys.readouterr().out


@pytest.mark.parametrize("value", ["0", "-3", "many"])
def test_the_demo_refuses_sizes_that_make_no_sense(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["demo", "--digits", value])
    assert "--digits" in capsys.readouterr().err


def test_the_demo_refuses_a_page_that_it_could_not_write_before_it_trains(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("dear", encoding="utf-8")
    for page, said in ((tmp_path / "no" / "page.html", "No such file"), (letter, "no page, and would be overwritten")):
        assert main(["demo", "--out", str(page)]) == 2
        shown = capsys.readouterr()
        assert said in " ".join(shown.err.split()) and shown.out == ""
    assert letter.read_text("utf-8") == "dear"


def test_the_demo_names_a_command_that_a_shell_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv" / "bin" / "mtd")])
    assert demo._ourselves() == str(Path(".venv", "bin", "mtd"))
    monkeypatch.setattr(sys, "argv", ["/usr/lib/python3/__main__.py"])
    assert demo._ourselves() == "mtd"


DEMO = ["demo", "--digits", "192", "--test-size", "100", "--no-open"]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", ["1", "3"])  # 2: see below
def test_the_demo_trains_on_two_wires_and_draws_a_page(
    ranks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = tmp_path / "demo.html"
    assert main([*DEMO, "--ranks", ranks, "--out", str(page)]) == 0
    out = capsys.readouterr().out
    assert "weights are the same in both, bit for bit" in out
    assert "loss of rank 0, step by step" in out and "of 100 unseen digits read rightly" in out
    assert " read as " in out and f"{ranks} ranks, three steps" in out and str(page) in out
    told, _, path = out.partition("The same as a page")
    assert max(len(line) for line in told.splitlines()) <= 80 and path
    assert "<svg" in page.read_text(encoding="utf-8") and list(tmp_path.iterdir()) == [page]


@pytest.mark.slow
def test_the_same_seed_shows_the_same_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = []
    for _ in range(2):
        main([*DEMO, "--seed", "3", "--ranks", "2", "--out", str(tmp_path / "demo.html")])
        pages.append(capsys.readouterr().out.partition("loss of rank 0")[2])
    assert pages[0] == pages[1] and pages[0]


@pytest.mark.slow
def test_the_benchmark_prints_a_row_and_what_it_compares_with() -> None:
    code = "from mtd.cli import main; main(['bench', 'nn', '--only', 'toy', '--rounds', '1', '--no-memory'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    assert "toy 10-10-5 MLP" in done.stdout


def test_the_benchmark_lets_each_library_choose_its_kernels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "OPENBLAS_CORETYPE" not in command.environment(keep_pins=False)
    said = capsys.readouterr().out
    assert "not passed on:" in said and "OPENBLAS_CORETYPE=Haswell" in said
    assert command.environment(keep_pins=True)["OPENBLAS_CORETYPE"] == "Haswell"
    assert command.environment(keep_pins=True)["OMP_NUM_THREADS"] == "1"


def test_braille_shows_each_dot_where_it_is() -> None:
    dots = np.zeros((4, 4), bool)
    assert plots.braille(dots) == ["⠀⠀"]
    dots[0, 0] = dots[3, 3] = True
    assert plots.braille(dots) == ["⠁⢀"]
    assert plots.braille(np.ones((5, 3), bool)) == ["⣿⡇", "⠉⠁"]
    assert plots.braille(np.zeros((0, 0), bool)) == []


def test_a_curve_has_its_scale_and_fits() -> None:
    lines = plots.curve([3.0, 2.0, 1.0], width=20, height=3, label="falling")
    assert lines[0] == "  falling" and len(lines) == 4
    assert lines[1].startswith("3 ") and lines[3].startswith("1 ")
    assert plots.curve([], label="x") == ["x: no values"]
    assert all(len(line) <= 63 for line in plots.curve([1.0] * 5))


@pytest.mark.slow
def test_collectives_are_timed_in_worlds_that_take_turns() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mtd", "bench", "comm", "--rounds", "1", "--ranks",
         "2,3", "--size", "8B,64KB", "--only", "all_reduce", "--only", "barrier",
         "--net", "file,queue"],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1],
        env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    titles = {f"{name}, {ranks} ranks" for name in ("file", "queue") for ranks in (2, 3)}
    assert titles == {line.strip().partition(", medians")[0] for line in lines if "medians" in line}
    assert sum(line.startswith("all_reduce") for line in lines) == 8
    assert sum(line.startswith("queue / file: geometric mean") for line in lines) == 2
    assert max(map(len, lines)) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_broker_is_asked_what_it_is(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(kind)
    try:
        monkeypatch.setenv(keys.VARIABLE, KEY)
        said = comm_brokers.title(broker.address)
        assert said.startswith(f"{broker.address} (")
        assert ("mosquitto version" if kind == "mosquitto" else "does not say") in said
        with pytest.raises(ConnectionError, match=f"127.0.0.1:{broker.port}: .*in the address"):
            comm_brokers.title(broker.address.replace("//", "//somebody:secret@"))
    finally:
        broker.stop()
    with pytest.raises(ConnectionError, match="Is a broker there") as caught:
        comm_brokers.title(broker.address.replace("//", "//somebody:secret@"))
    assert "secret" not in str(caught.value)


def test_what_a_broker_is_called_and_where_ranks_meet() -> None:
    assert comm_brokers.title("mqtt") == "mqtt, our own broker"
    with pytest.raises(ValueError, match="names no broker"):
        comm_brokers.title("mqtt://")
    one, other = (comm_brokers.meeting("mqtt://me:pass@there:99/job?tls=1") for _ in "ab")
    assert one != other and one.startswith("mqtt://me:pass@there:99/job-") and one.endswith("?tls=1")


@pytest.mark.slow
def test_a_broker_of_ones_own_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    broker = Broker("embedded")
    try:
        monkeypatch.setenv(keys.VARIABLE, KEY)
        words = ["--net", broker.address, "--against", "none", "--rounds", "1", "--only", "send_recv", "--size", "1KB"]
        assert bench.main("comm", words) == 0
    finally:
        broker.stop()
    said = capsys.readouterr().out
    assert f"{broker.address} (a broker that does not say which), 2 ranks, medians" in said
    assert "send_recv" in said


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert worlds.missing("gloo") == "torch is not installed"
    assert "mpi4py is not installed" in worlds.missing("mpi")
    assert worlds.missing("tcp") == ""


def test_bandwidths_are_those_of_nccl_tests() -> None:
    assert comm.bus_factor("all_reduce", 4) == 1.5
    assert comm.bus_factor("all_gather", 4) == 0.75
    assert comm.bus_factor("broadcast", 4) == 1.0
    assert [turns.duration(s) for s in (2.0, 1.5e-3, 2.5e-6, 4e-9)] == ["2 s", "1.5 ms", "2.5 µs", "4 ns"]


@pytest.mark.slow
def test_the_broker_serves_until_ctrl_c(tmp_path: Path) -> None:
    environment = {**os.environ, "MINITORCH_DIST_KEY": "of this test"}
    with subprocess.Popen(
        [sys.executable, "-m", "mtd", "broker"],
        env=environment,
        text=True,
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("mqtt://127.0.0.1:")
        script = (
            "import minitorch_dist as torch, minitorch_dist.distributed as dist\n"
            f"dist.init_process_group('mqtt', '{address}', rank=0, world_size=1)\n"
            "x = torch.ones(3); dist.all_reduce(x); print(x.sum().item())\n"
            "dist.destroy_process_group()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            text=True,
            capture_output=True,
            cwd=Path(__file__).parents[1],
            timeout=300,
            check=True,
        )
        assert done.stdout == "3.0\n"
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=300)
    assert (said, complaints, process.returncode) == ("", "", 0)


def test_a_broker_that_cannot_listen_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["broker", "--port", "70000"]) == 1
    assert "port must be 0-65535" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("torch", "import minitorch_dist as torch"),
        ("torch.nn", "pip install torch"),
        ("pandas", "pip list"),
        ("torchvision", "pip list"),
    ],
)
def test_a_module_that_is_not_installed_has_a_next_step(missing: str, said: str) -> None:
    shown = scripts.shown(ModuleNotFoundError(f"No module named '{missing}'"))
    assert missing in shown and said in shown
    assert "\n" not in scripts.shown(ModuleNotFoundError("of another kind"))


@pytest.mark.parametrize("module", command.OF_TESTS.values())
def test_what_stands_with_the_tests_takes_options(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        of_checkout.run(module, ["--help"])
    assert ended.value.code == 0 and "usage: mtd" in capsys.readouterr().out
