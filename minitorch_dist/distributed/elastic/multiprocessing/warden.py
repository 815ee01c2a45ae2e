"""Ends what an agent that was killed leaves: its workers with all that they started, its folder.

    agent ── a pipe: "+123" group 123 has begun, "-123" it has ended, "." the agent removes its folder ──► warden

When the pipe ends, the agent has ended, too, and the groups that are left are killed. A process of its own,
since a killed agent does nothing any more; standard library only, for its start.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

HOUSE = Path(__file__).parents[4]  # where `transports` is


class Warden:
    """The agent's side."""

    def __init__(self, folder: Path | None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-ISs", __file__, str(folder or ""), str(HOUSE)],
            stdin=subprocess.PIPE,
            bufsize=0,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _say(self, text: str) -> None:
        assert self._process.stdin is not None, "it was made with a pipe"
        with suppress(OSError):  # somebody has killed it
            self._process.stdin.write(f"{text}\n".encode())

    def watch_over(self, group: int) -> None:
        self._say(f"+{group}")

    def forget(self, group: int) -> None:
        self._say(f"-{group}")

    def close(self) -> None:
        self._say(".")
        self._process.communicate()  # which closes the pipe


def serve() -> None:
    folder = sys.argv[1]
    groups: set[int] = set()
    for line in sys.stdin:
        if line[0] == "+":
            groups.add(int(line[1:]))
        elif line[0] == "-":
            groups.discard(int(line[1:]))
        else:
            folder = ""
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    if folder:
        sys.path.append(sys.argv[2])  # only here, for its start is to be quick
        from transports import keeper

        keeper.remove_if_dead(Path(folder), wait=True)  # the pipe may end before the agent's lock does


if __name__ == "__main__":
    serve()
