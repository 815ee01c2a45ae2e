"""`mtd dev census`: who enters which function, and which names nobody uses.

mtd dev census                              all walks: lessons, programs, notebooks, wires, launchers, commands
mtd dev census --walk programs --walk wires
mtd dev census --out census.json            each function, with the walks that entered it
mtd dev census --names --used names.txt     the public names that nobody uses, here or in that list
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from mtd.cli.code_lines import GROUNDS, HOUSE, code_lines
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.pages import whole_files
from tests.census import marks, names, walks
from transports import keeper

LONGEST = 1800  # seconds of one command


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="mtd dev census")
    parser.takes(f"""
        --walk {{{",".join(walks.WALKS)}}}...  only this one (may be given again)
        --out OUT: path                        write each function with the walks that entered it, as JSON
        --names                                list public names that nobody uses
        --used USED: path                      with --names: a file of names that others use
    """)
    parser.needs("--used", "--names")
    parser.excludes("--names", "--walk", "--out")
    options, page = parser.parse_args(arguments), Page()
    if options.names:
        return _list_names(page, options.used)
    files = [file for ground in GROUNDS for file in sorted((HOUSE / ground).rglob("*.py"))]
    by: dict[int, list[str]] = defaultdict(list)
    failed = 0
    with keeper.temporary_folder("mtd-census-") as folder:
        functions = marks.begin(folder, HOUSE, files)
        for name in options.walk or walks.WALKS:
            marks.clear(folder, len(functions))
            failed += _failures(page, name, folder)
            for number, mark in enumerate(marks.entered(folder)):
                if mark:
                    by[number].append(name)
    _report(page, functions, by)
    if options.out is not None:
        rows = [[*one, by[number]] for number, one in enumerate(functions)]
        whole_files.write(options.out, json.dumps(rows, indent=0))
        page.say(f"wrote {options.out}")
    return 1 if failed else 0


def _failures(page: Page, walk: str, folder: Path) -> int:
    """Run the walk's commands, one on each processor at a time; how many of them failed."""
    with ThreadPoolExecutor(os.cpu_count()) as runners:
        ended = list(runners.map(partial(_ended, page, walk, folder), walks.WALKS[walk](HOUSE)))
    page.say(f"{walk}: {len(ended)} commands")
    return ended.count(False)


def _ended(page: Page, walk: str, folder: Path, command: list[str]) -> bool:
    """Run one command; whether it came to its end."""
    words = [word.replace("CENSUS", str(folder)) for word in command]
    try:
        ended = subprocess.run(
            words,
            cwd=HOUSE,
            env=marks.surroundings(folder, HOUSE),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        page.say(f"{walk}: {' '.join(command[1:])} took more than {LONGEST} s")
        return False
    if ended.returncode:
        last = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
        page.say(f"{walk}: {' '.join(command[1:])} ended with {ended.returncode}: {''.join(last)}")
    return not ended.returncode


def _report(page: Page, functions: list[marks.MarkedFunction], by: dict[int, list[str]]) -> None:
    """For each package: functions, those that were entered, and the lines of files that nobody entered."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    known: set[str] = set()
    for number, one in enumerate(functions):
        room = rooms["/".join(one.path.split("/")[:-1][:2])]
        room["functions"] += 1
        if by.get(number):
            room["entered"] += 1
            known.add(one.path)
    strange = {one.path for one in functions} - known
    for path in strange:
        room = rooms["/".join(path.split("/")[:-1][:2])]
        room["files"] += 1
        room["lines"] += code_lines((HOUSE / path).read_text("utf-8"))
    page.as_it_is(f"{'':<27} {'functions':>9} {'entered':>14}   {'files, lines never entered':>20}")
    whole: Counter[str] = Counter()
    for name, room in [*sorted(rooms.items()), ("together", whole)]:
        whole += room if name != "together" else Counter()
        share = room["entered"] / room["functions"]
        page.as_it_is(
            f"{name:<27} {room['functions']:>9,} {room['entered']:>8,} {share:>5.0%} {room['files']:>12,} {room['lines']:>13,}"
        )


def _list_names(page: Page, used: Path | None) -> int:
    outside = frozenset[str]() if used is None else names.read_used(used)
    found = names.unused(HOUSE, outside)
    page.say(f"{len(found)} public names with {sum(one.lines for one in found):,} lines, which nobody uses here")
    for one in found:
        page.as_it_is(f"{one.lines:>5}  {one.name:<36} {one.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
