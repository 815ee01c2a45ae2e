"""`python -m tests.corpus`: in how many seeds each bug is found and named, as the table of docs/simulator_faults.md."""

from __future__ import annotations

import contextlib
import io

from tests.corpus.wrong import BUGS, FoundBug

SEEDS = range(1, 41)


def table() -> list[str]:
    rows = [f"| bug | found in, of {len(SEEDS)} seeds | named in | first seed | as |", "|---|---|---|---|---|"]
    for bug in BUGS:
        with contextlib.redirect_stderr(io.StringIO()):  # of messages that nobody has received
            found = FoundBug.of(bug, SEEDS)
        rows.append(f"| {bug.name} | {found.found} | {found.named} | {found.first} | {found.kinds} |")
    return rows


if __name__ == "__main__":
    print("\n".join(table()))
