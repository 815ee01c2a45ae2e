"""The census: a function is marked when it is entered, in any process, thread or generator, and not before."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mtd.cli.code_lines import HOUSE
from tests.census import marks, names, walks

MODULE = '''
"""A module."""
from __future__ import annotations

def documented() -> str:
    """Only a docstring."""

def called(): return 1

def never():
    return called()

class Kind:
    def method(self):
        def inner():
            yield 1
        return [*inner()]

    async def waits(self): pass

def raises():
    raise ValueError
'''
PROGRAM = """
import asyncio, os, signal, threading, traceback
import marked
{deed}
"""


@pytest.mark.parametrize(
    ("deed", "entered"),
    [
        ("", ""),
        ("assert marked.documented.__doc__ == 'Only a docstring.'; marked.documented()", "documented"),
        ("threading.Thread(target=marked.called).start()", "called"),
        ("os.fork() or marked.never()", "never called"),
        ("marked.called(); os.kill(os.getpid(), signal.SIGKILL)", "called"),
        ("marked.Kind().method()", "method inner"),
        ("marked.Kind().waits().close()", ""),
        ("asyncio.run(marked.Kind().waits())", "waits"),
        (
            "try: marked.raises()\nexcept ValueError as e: assert traceback.extract_tb(e.__traceback__)[-1].line == 'raise ValueError'",
            "raises",
        ),
    ],
)
def test_a_mark_says_that_a_function_was_entered(tmp_path: Path, deed: str, entered: str) -> None:
    house, folder = tmp_path / "house", tmp_path / "folder"
    house.mkdir()
    folder.mkdir()
    module = house / "marked.py"
    module.write_text(MODULE)
    functions = marks.begin(folder, house, [module])
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(deed=deed)],
        env=marks.surroundings(folder, house),
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    found = {one.name for one, mark in zip(functions, marks.entered(folder), strict=True) if mark}
    assert found == set(entered.split())
    assert not [*house.glob("__pycache__")], "marked code is compiled into a folder of its own"


def test_names_that_only_tests_and_lists_of_names_know_are_not_used(tmp_path: Path) -> None:
    texts = {
        "minitorch_dist/room.py": "def used(): ...\ndef unused(): ...\ndef by_text(): ...\ndef _own(): ...\n"
        "class Outside: ...\n",
        "minitorch_dist/__init__.py": "from minitorch_dist.room import unused as unused\n",
        "lessons/one.py": "import minitorch_dist.room as room\nroom.used()\nthe = 'room:by_text'\n",
        "tests/test.py": "from minitorch_dist.room import unused\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    others = tmp_path / "used.txt"
    others.write_text("# names\ntorch.nn.Outside 3\n")
    assert [one.name for one in names.unused(tmp_path)] == ["unused", "Outside"]
    assert [one.name for one in names.unused(tmp_path, names.read_used(others))] == ["unused"]


def test_walks_name_files_that_are_there() -> None:
    commands = [command for walk in walks.WALKS.values() for command in walk(HOUSE)]
    assert len(commands) > 100
    files = [word for command in commands for word in command if word.endswith((".py", ".ipynb"))]
    assert all((HOUSE / file).is_file() for file in files if "CENSUS" not in file)
