"""The command line of the suite."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.hostile.parts import all_parts
from tests.hostile.running import Part, Runner, made, table, told
from transports import keys

KINDS = ("door", "live", "fault", "folder", "twice")


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    found.add_argument("--seconds", type=float, default=60.0, help="for all parts together")
    found.add_argument("--seed", type=int, default=1)
    found.add_argument("--only", action="append", default=[], help="parts whose name begins so")
    found.add_argument("--kind", action="append", default=[], choices=KINDS)
    found.add_argument("--jobs", type=int, default=2, help="parts at once")
    found.add_argument("--count", type=int, help="so many attempts of each part at most")
    found.add_argument("--traces", action="store_true", help="print where it fell")
    found.add_argument("--replay", metavar="PART:SEED:NUMBER", help="make one attempt again")
    found.add_argument("--list", action="store_true", help="print the parts' names")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """1 if anything fell."""
    asked = parser().parse_args(words)
    os.environ[keys.VARIABLE] = "the key of the hostile suite"  # no home is touched
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="hostile-doors-", dir=memory) as folder:
        parts = all_parts(Path(folder))
        if asked.list:
            print("\n".join(f"{part.name:20} {part.kind}" for part in parts))
            return 0
        if asked.replay:
            return again(parts, asked.replay, Path(folder))
        chosen = [
            part
            for part in parts
            if (not asked.only or part.name.startswith(tuple(asked.only)))
            and (not asked.kind or part.kind in asked.kind)
        ]
        if not chosen:
            print("no part is called so; --list prints them")
            return 2
        rows = Runner(chosen, asked.seed, asked.seconds, asked.jobs, asked.count).run()
    print(table(rows))
    fallen = told(rows, asked.traces)
    if fallen:
        print(f"\n{fallen}")
    return 1 if fallen else 0


def again(parts: Sequence[Part], token: str, folder: Path) -> int:
    """One attempt, in this process, with all that is known of it."""
    name, seed, number = token.rsplit(":", 2)
    found = [part for part in parts if part.name == name]
    if not found:
        print(f"no part is called {name!r}; --list prints them")
        return 2
    place = folder / "again"
    place.mkdir()
    session = found[0].open(int(seed), place)
    given = getattr(session, "inputs", None)
    if given is not None:
        print(f"input: {given.input(int(number)).given!r}"[:20_000])
    verdict = made(session, int(number)).verdict
    session.close()
    print(f"{token}: {verdict.outcome} {verdict.why}\n{verdict.trace}")
    return 1 if verdict.has_fallen else 0
