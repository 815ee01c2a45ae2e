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

COMMANDS = {
    "init": "the course: a folder of your own with a skeleton for each lesson",
    "list": "the course: the lessons, and how far you are",
    "track": "the course: an evening, the whole training, or wires: which lessons come next",
    "check": "the course: is what you wrote right, and as cheap as can be?",
    "wire": "the course: what you wrote over tcp, over a folder, over mqtt, beside the simulator",
    "text": "the course: read a lesson",
    "notebook": "the course: work on a lesson in a notebook, whose cells are your file",
    "bridge": "the course: the same in PyTorch, and the tutorial that it leads to",
    "hint": "the course: one more hint, up to three",
    "predict": "the course: guess first, then see what is measured",
    "solution": "the course: ours, once yours passes",
    "use": "the course: let later lessons take ours, or yours",
    "size": "the course: how much of a lesson is blank: gaps, functions, or the file",
    "reset": "the course: begin a lesson anew; what you wrote is kept",
    "assemble": "the course: what you wrote as one package that trains over real wires",
    "why": "the course: what a lamp asks for, and why nothing can be better",
    "help": "the commands on one screen; mtd help check, or mtd help all, says more",
    "doctor": "what this machine has and lacks, and what to do about it",
    "demo": "four ranks learn to read digits, as threads and over TCP; ends with a picture",
    "broker": "serve MQTT for worlds that have no broker: prints its address, until Ctrl-C",
    "bench": "time training steps, beside torch's where torch is installed",
    "simulate": "what a collective takes on a described network, by every algorithm",
    "plan": "which layout trains a model fastest on these GPUs, and what it takes there",
    "calibrate": "measure latency and bandwidth of a transport, for a simulation",
    "verify": "collectives over a transport: predicted beside measured",
    "papers": "tables of papers, made again by our own code",
    "likeness": "how much of torch is here: names and arguments, module by module",
    "run": "run a script on every rank of a world, simulated or real, with faults if you like",
    "replay": "make the run of a token again, which fails as it did",
    "zoo": "seven hangs that people met in public, found and explained",
    "road": "which of our files and functions one call goes through, in order",
    "diff": "compare two journals: equal, or where they first part",
    "show": "draw a journal: in the terminal, as SVG, as a page or a trace",
    "museum": "bugs that people really had: read about one, find one, or write the check that does",
    "contest": "a schedule of your own against all that are built in, and against the bound",
    "capstone": "the course: one script in seven worlds, and a certificate of it",
    "game": "be the network and break an algorithm, or be a rank and race the ring",
    "class": "a class of laptops trains one model: host opens it, join takes part",
    "dev": "for authors of lessons: judge them, and make what is made from them",
}

# Where a command's module is not beside this one, or not called like the command.
MODULES = {
    **{name: f"lessons.{name}" for name in COMMANDS if COMMANDS[name].startswith("the course: ")},
    "list": "lessons.listing",
    "capstone": "capstone",
    "bench": "bench.command",
    "class": "classroom.command",
    "road": "road.command",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mtd COMMAND …`; returns the exit status."""
    parser = Parser(prog="mtd")
    parser.add_argument("--version", action="version", version=f"minitorch_dist {__version__}")
    parser.format_help = lambda: first_screen(COMMANDS)  # type: ignore[method-assign]
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    named = next((word for word in given if not word.startswith("-")), None)
    for name, text in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        if name == named:
            module = importlib.import_module(f"mtd.cli.{MODULES.get(name, name)}")
            module.configure(command)
            example = command.get_default("epilog")
            command.epilog = f"For example: {example}" if example else None
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
