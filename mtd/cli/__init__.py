"""`mtd`: the command line. Each command is a module, imported when it is called.

The commands of the course stand in `lessons/`, those of a class in `classroom/`, the benchmarks in
`bench/`. All other commands lie here. All of them print on a `page`, and `parser` reads their arguments.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence

from minitorch_dist.pictures import terminal
from minitorch_dist.version import __version__
from mtd.cli.help import first_screen
from mtd.cli.page import refuse
from mtd.cli.parser import Parser
from mtd.refusals import CannotDo

GROUPS = {
    "Lessons": {
        "init": "a folder of your own with a skeleton for each lesson",
        "list": "the lessons, and how far you are",
        "track": "an evening, the whole training, or wires: which lessons come next",
        "text": "read a lesson",
        "notebook": "work on a lesson in a notebook, whose cells are your file",
        "check": "is what you wrote correct, and as cheap as can be?",
        "hint": "one more hint, up to three",
        "predict": "guess first, then see what is measured",
        "solution": "ours, once yours passes",
        "wire": "what you wrote over tcp, over a folder, over mqtt, beside the simulator",
        "bridge": "the same in PyTorch, and the tutorial that it leads to",
        "why": "what a lamp asks for, and why nothing can be better",
        "use": "let later lessons take ours, or yours",
        "size": "how much of a lesson is blank: gaps, functions, or the file",
        "reset": "begin a lesson anew; what you wrote is kept",
        "assemble": "what you wrote as one package that trains over real wires",
        "capstone": "one script in seven worlds, and a certificate of it",
        "museum": "bugs that people really had: read about one, find one, or write the check that does",
        "contest": "a schedule of your own against all that are built in, and against the bound",
        "game": "be the network and break an algorithm, or be a rank and race the ring",
        "class": "a class of laptops trains one model: host opens it, join takes part",
    },
    "Run and debug": {
        "demo": "four ranks learn to read digits, as threads and over TCP; ends with a picture",
        "run": "run a script on every rank, simulated or real",
        "replay": "run again what a token names, which fails as it did",
        "zoo": "seven hangs that people met in public, explained",
        "show": "draw a journal: here, as SVG, as a page or a trace",
        "diff": "compare two journals: equal, or where they first part",
        "broker": "serve MQTT for worlds that have no broker: prints its address, until Ctrl-C",
        "doctor": "what this machine has and lacks, and what to do about it",
    },
    "Simulate and plan": {
        "simulate": "how long a collective takes on a described network",
        "lab": "a schedule of your own: proved, drawn, costed and ranked",
        "plan": "which layout trains a model fastest on these GPUs",
        "papers": "tables of papers, reproduced by our own code",
        "calibrate": "measure latency and bandwidth of a transport, for a simulation",
        "verify": "collectives over a transport: predicted beside measured",
    },
    "Benchmarks, and about this project": {
        "bench": "time training steps, beside torch where it is there",
        "likeness": "how much of torch is here: names and arguments, module by module",
        "road": "which of our files and functions one call goes through, in order",
        "completion": "let bash, zsh or fish complete these commands and their options",
        "help": "the commands on one screen; mtd help check, or mtd help all, says more",
        "dev": "for authors of lessons: judge them, and write what is made from them",
    },
}
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
