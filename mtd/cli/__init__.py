"""`mtd`: the command line. Each command is a module, imported when it is called.

`commands.toml` lists them. The commands of the course stand in `lessons/`, those of a class in `classroom/`, the benchmarks in
`bench/`. All other commands lie here. All of them print on a `page`, `parser` reads their arguments, and `keyboard` reads keys one by one.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from minitorch_dist.inventory.release import __version__
from minitorch_dist.pictures import terminal
from mtd.cli.help import first_screen
from mtd.cli.page import refuse
from mtd.cli.parser import Parser
from mtd.refusals import CannotDo

TABLE: Final = Path(__file__).with_name("commands.toml")
GROUPS: Final[dict[str, dict[str, str]]] = tomllib.loads(TABLE.read_text("utf-8"))
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}

# Where a command's module is not beside this one, or not called like the command.
OF_LESSONS = (
    "init", "track", "text", "notebook", "check", "hint", "predict", "solution", "wire", "bridge", "why", "use", "size",
    "reset", "assemble",
)  # fmt: skip
MODULES = {
    **{name: f"lessons.{name}" for name in OF_LESSONS},
    "list": "lessons.listing",
    "bench": "bench.command",
    "class": "classroom.command",
    "road": "road.command",
}


def parser_of(*names: str) -> Parser:
    """The parser of `mtd`; these commands have their options, and the others only their name."""
    parser = Parser(prog="mtd")
    parser.add_argument("--version", action="version", version=f"minitorch_dist {__version__}", help="say it")
    parser.format_help = lambda: first_screen(GROUPS)  # type: ignore[method-assign]
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if name in names:
            module = importlib.import_module(f"mtd.cli.{MODULES.get(name, name)}")
            module.configure(command)
            example = command.get_default("epilog")
            command.epilog = f"For example: {example}" if example else None
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mtd COMMAND …`; returns the exit status."""
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    parser = parser_of(*[word for word in given if not word.startswith("-")][:1])
    terminal.plain(sys.stdout, sys.stderr)
    parsed = parser.parse_args(given)
    try:
        if parsed.command is None:  # the course, where you left it
            status = int(importlib.import_module("mtd.cli.lessons.opening").run())
        else:
            status = int(parsed.run(parsed))
        sys.stdout.flush()
        return status
    except CannotDo as error:
        return refuse(parsed.command or "", error)
    except BrokenPipeError:  # the reader has seen enough (mtd … | head)
        _forget_output()
        return 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"mtd {parsed.command}: {where}{error.strerror}", file=sys.stderr)
        _forget_output()
        return 1
    except KeyboardInterrupt:
        print(f"\nmtd {parsed.command or ''}: interrupted".replace(" :", ":"), file=sys.stderr)
        return 130


def _forget_output() -> None:
    """Text that is still to be written would fail again when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
