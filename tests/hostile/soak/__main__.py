from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.hostile.soak.programs import PROGRAMS
from tests.hostile.soak.rounds import ELASTIC, KINDS, LAUNCHED, Outcome, Round
from tests.transports import brokers
from transports import keys


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m tests.hostile.soak")
    found.add_argument("--minutes", type=float, default=30.0)
    found.add_argument("--seed", type=int, default=1)
    found.add_argument("--jobs", type=int, default=2, help="rounds at once")
    found.add_argument("--wire", action="append", help="wires whose name begins so")
    found.add_argument("--program", action="append", choices=list(PROGRAMS))
    found.add_argument("--round", metavar="SEED:NUMBER", help="one round again; with the same --wire and --program")
    return found


@contextmanager
def all_wires(chosen: Sequence[str] | None) -> Iterator[dict[str, str]]:
    wires = {**LAUNCHED, **ELASTIC}
    broker = None
    if brokers.MOSQUITTO is not None:
        brokers.KEY = os.environ[keys.VARIABLE] = "the key of the soak"
        broker = brokers.Broker("mosquitto")
        wires["mosquitto"] = broker.address
    try:
        yield {name: address for name, address in wires.items() if not chosen or name.startswith(tuple(chosen))}
    finally:
        if broker is not None:
            broker.stop()


def table(outcomes: Sequence[Outcome]) -> str:
    """A row for each wire and program."""
    head = f"{'wire':22} {'program':12} {'rounds':>6} " + " ".join(f"{kind:>9}" for kind in KINDS)
    lines, total = [head, "-" * len(head)], Counter[str]()
    for wire, program in sorted({(one.wire, one.program) for one in outcomes}):
        here = [one for one in outcomes if (one.wire, one.program) == (wire, program)]
        found = Counter(kind for one in here for kind, _ in one.faults)
        found["struck"] = sum(len(one.blows) for one in here)
        total += found
        numbers = " ".join(f"{found[kind]:>9}" for kind in KINDS)
        lines.append(f"{wire:22} {program:12} {len(here):>6} {numbers}")
    numbers = " ".join(f"{total[kind]:>9}" for kind in KINDS)
    return "\n".join([*lines, "-" * len(head), f"{'all':35} {len(outcomes):>6} {numbers}"])


def said(outcome: Outcome, asked: argparse.Namespace) -> str:
    """The faults of a round, and the line that makes it again."""
    again = f"python -m tests.hostile.soak --round {outcome.token}"
    again += "".join(f" --wire '{wire}'" for wire in asked.wire or ())
    again += "".join(f" --program {program}" for program in asked.program or ())
    lines = [f"{outcome.wire}, {outcome.program}: {again}"]
    return "\n".join([*lines, *(f"    {kind}: {text}" for kind, text in outcome.faults)])


def main(words: Sequence[str] | None = None) -> int:
    """1 if anything is wrong or left."""
    asked = parser().parse_args(words)
    until, numbers = time.monotonic() + 60 * asked.minutes, count()
    outcomes: list[Outcome] = []

    def rounds(wires: dict[str, str], folder: str) -> None:
        while time.monotonic() < until:
            play(f"{asked.seed}:{next(numbers)}", wires, folder)

    def play(token: str, wires: dict[str, str], folder: str) -> None:
        place = Path(folder) / token.replace(":", "-")
        outcome = Round(token, place, wires, asked.program or list(PROGRAMS)).run()
        outcomes.append(outcome)
        if outcome.faults:
            print(said(outcome, asked), flush=True)
        if asked.round is not None:
            print(outcome.said)
        shutil.rmtree(place, ignore_errors=True)

    with all_wires(asked.wire) as wires, tempfile.TemporaryDirectory(prefix="soak-") as folder:
        if asked.round is not None:
            play(asked.round, wires, folder)
        else:
            with ThreadPoolExecutor(asked.jobs) as pool:
                for each in [pool.submit(rounds, wires, folder) for _ in range(asked.jobs)]:
                    each.result()
    print(table(outcomes))
    return 1 if any(one.faults for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
