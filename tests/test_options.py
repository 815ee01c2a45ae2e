"""The options of all commands: each is explained, one thing has one name, and none is ignored in silence."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from minitorch_dist.distributed import run as torchrun
from mtd.cli import COMMANDS, GROUPS, main, parser_of

ONE_NAME = {  # each former name, and that of today
    "--network": "--net", "--transport": "--net", "--transports": "--net", "--over": "--net", "--worlds": "--net",
    "--turns": "--rounds", "--pairs": "--rounds", "--trips": "--rounds", "--times": "--rounds",
    "--bytes": "--size", "--into": "--out", "--picture": "--out",
}  # fmt: skip


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from parsers(one)


EVERY = [*parsers(parser_of(*COMMANDS)), torchrun.get_args_parser("mtdrun")]


@pytest.mark.parametrize("parser", EVERY, ids=lambda parser: str(parser.prog).replace(" ", "-"))
def test_every_option_is_explained_and_has_the_one_name(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        is_command = isinstance(action, argparse._SubParsersAction)
        assert is_command or action.help, action
        assert not {*action.option_strings} & {*ONE_NAME}, action


def test_every_command_is_in_one_group() -> None:
    names = [name for group in GROUPS.values() for name in group]
    assert sorted(names) == sorted({*names}) == sorted(COMMANDS) and len(GROUPS) == 4


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("contest mine.py --network nodes", "net", ["nodes"]),
        ("capstone --worlds alone", "net", ["alone"]),
        ("wire 13 --over tcp", "net", ["tcp"]),
        ("verify tcp:// --bytes 1KB 2KB", "size", ["1KB", "2KB"]),
        ("verify tcp:// --turns=3", "rounds", 3),
        ("calibrate tcp:// --trips 3", "rounds", 3),
        ("simulate all_reduce --bytes 1KB", "size", "1KB"),
        ("assemble --into here", "out", Path("here")),
        ("demo --picture p.html", "out", Path("p.html")),
        ("demo --size 100", "digits", 100),
    ],
)
def test_former_names_are_still_taken(words: str, name: str, value: object) -> None:
    given = words.split()
    assert getattr(parser_of(given[0]).parse_args(given), name) == value


def test_a_script_keeps_its_own_options() -> None:
    words = ["run", "train.py", "--bytes", "3", "--transport", "own"]
    assert parser_of("run").parse_args(words).arguments == words[2:]
    assert torchrun.parse_args(["--transport", "tcp", *words[1:]]).training_script_args == words[2:]
    assert torchrun.parse_args(["--transport", "tcp", *words[1:]]).net == "tcp"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("check 13 --all", "--all and lesson do not go together"),
        ("check --all --watch", "--all and --watch do not go together"),
        ("bridge 13 --real --run", "--real and --run do not go together"),
        ("assemble --reference --from course", "--reference and --from do not go together"),
        ("run --sizes 2,3 t.py", "--sizes says nothing without --seeds"),
        ("run --unreliable t.py", "--unreliable says nothing without --faults"),
        ("run --seeds 3 --journal a.mtd t.py", "--seeds and --journal do not go together"),
        ("plan llama3-8b --gpus 8 --saving 3s", "--saving says nothing without --mtbf"),
        ("plan llama3-8b --gpus 8 --json --against a.json", "--json and --against do not go together"),
        ("zoo --real", "--real says nothing without name"),
        ("museum --seed 3", "--seed says nothing without --find"),
        ("museum --begin", "--begin says nothing without --property"),
        ("contest 15 --text --ranks 3", "--text and --ranks do not go together"),
        ("contest 15 --text --why", "--text and --why do not go together"),
        ("show a.mtd --by group", "--by says nothing without --svg"),
        ("show a.mtd --step --gantt", "--step and --gantt do not go together"),
        ("show a.mtd --chunks --ranks 0-3", "--chunks and --ranks do not go together"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words.split())
    assert left.value.code == 2 and said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("show 13 --gantt", "--gantt needs a journal, and 13 is a lesson"),
        ("show 13 --moving --width 80", "--width needs a journal"),
        ("calibrate cpu --rounds 3", "--rounds is about a transport"),
        ("wire 13 --net sim://?latency=1us --net torus:shape=2x2,link=1us/1Gb/s", "has one network"),
    ],
)
def test_so_is_one_that_the_value_of_another_leaves_without_meaning(
    words: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    assert main(["init", "course"]) == 0
    monkeypatch.chdir(tmp_path / "course")
    capsys.readouterr()
    assert main(words.split()) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_real_wires_refuse_what_is_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "t.py"
    script.write_text("")
    assert main(["run", "--net", "queue", "--seed", "3", str(script)]) == 2
    assert "--seed is simulated, but --net queue:// is real" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------ completion


def completed(shell: str) -> str:
    """In a process of its own: shtab asks for the width of the terminal and changes argparse."""
    pytest.importorskip("shtab")
    done = subprocess.run(
        [sys.executable, "-m", "mtd", "completion", shell],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
        timeout=300,
    )
    return done.stdout


@pytest.mark.slow
def test_bash_completes_commands_options_and_values(tmp_path: Path) -> None:
    script = tmp_path / "mtd.bash"
    script.write_text(completed("bash"))
    for words, found in (
        ("mtd sim", ["simulate"]),
        ("mtd wire --n", ["--net"]),
        ("mtd bench rp", ["rpc"]),
        ("mtd completion fi", ["fish"]),
        ("mtd class ho", ["host"]),
    ):
        parts = words.split()
        asked = f"COMP_WORDS=({words}); COMP_CWORD={len(parts) - 1}; COMP_LINE='{words}'; _shtab_mtd mtd {parts[-1]} {parts[-2]}"
        done = subprocess.run(
            ["bash", "-c", f'source {script}; {asked}; echo "${{COMPREPLY[@]}}"'],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
        assert done.stdout.split() == found, words


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_can_read_theirs(shell: str, tmp_path: Path) -> None:
    text = completed(shell)
    assert all(name in text for name in COMMANDS) and "--rounds" in text and "--transports" not in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "mtd"
    script.write_text(text)
    subprocess.run([shell, "-n", str(script)], check=True, timeout=300)
    if shell == "fish":
        ask = f"source {script}; complete -C 'mtd sim'; complete -C 'mtd wire --n'"
        said = subprocess.run(["fish", "-c", ask], capture_output=True, text=True, check=True, timeout=300)
        assert "simulate" in said.stdout and "--net" in said.stdout
