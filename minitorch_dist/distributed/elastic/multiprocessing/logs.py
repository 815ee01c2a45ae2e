"""Where what workers print goes: to the console, to files (`--redirects`), or to both (`--tee`).

    <log dir>/<run id>_xxxxxxxx/attempt_<generation>/<local rank>/stdout.log, stderr.log, error.json

A tee is a file that the agent reads behind the worker's back, and prints with `[default0]:` before each
line. So a worker never waits for a console, and nothing that it wrote before it died is lost.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from transports import keeper
from transports.keeper import Held

STDOUT: Final = 1  # torch's numbers; 3 is both
STDERR: Final = 2
PREFIX: Final = "mtdrun_"  # of folders that go with their agents


@dataclass(frozen=True)
class Wishes:
    """The options of the command line about output."""

    log_dir: str | None = None
    redirects: int = 0
    tee: int = 0

    def has_files(self) -> bool:
        """Whether the user wants to find files afterwards."""
        return self.log_dir is not None or bool(self.redirects | self.tee)


class LogFolder:
    """The job's folder on this node. It goes when the agent does, unless it was asked for. Those of agents that were
    killed with their wardens are swept by the next one."""

    def __init__(self, wishes: Wishes, run_id: str) -> None:
        self.wishes = wishes
        self._held: Held | None = None
        keeper.sweep_folders(tempfile.gettempdir(), PREFIX)
        if not self.is_kept:
            self.path, self._held = keeper.make_folder(tempfile.gettempdir(), PREFIX)
            return
        parent = wishes.log_dir and Path(wishes.log_dir)
        if parent:
            parent.mkdir(parents=True, exist_ok=True)
        safe = re.sub(r"[^\w.-]", "_", run_id)
        prefix = f"{safe}_" if parent else f"{PREFIX}{safe}_"
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent or None))

    def of_worker(self, generation: int, local_rank: int) -> Path:
        folder = self.path / f"attempt_{generation}" / str(local_rank)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def is_kept(self) -> bool:
        return self.wishes.has_files()

    def close(self) -> None:
        if self._held is not None:
            keeper.remove_folder(self.path, self._held)
            self._held.close()

    def __repr__(self) -> str:
        return f"<LogFolder {self.path}>"


class Streams:
    """The two streams of one worker: files to hand to it (None: the console), and what of them to repeat here."""

    def __init__(self, wishes: Wishes, folder: Path, local_rank: int) -> None:
        self.files: list[IO[bytes] | None] = []
        self._tails: list[_Tail] = []
        for std, name, console in ((STDOUT, "stdout.log", sys.stdout), (STDERR, "stderr.log", sys.stderr)):
            is_file = (wishes.tee | wishes.redirects) & std
            self.files.append((folder / name).open("ab", buffering=0) if is_file else None)
            if wishes.tee & std:
                self._tails.append(_Tail(folder / name, f"[default{local_rank}]:", console))

    def pump(self) -> None:
        """Print what has come."""
        for tail in self._tails:
            tail.pump()

    def close(self) -> None:
        """Print the rest."""
        for tail in self._tails:
            tail.close()
        for file in self.files:
            if file is not None:
                file.close()


class _Tail:
    def __init__(self, path: Path, before: str, console: IO[str]) -> None:
        self._file = path.open("rb")
        self._before, self._console, self._rest = before, console, b""

    def pump(self) -> None:
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        self._print(lines)

    def close(self) -> None:
        self.pump()
        self._print([self._rest] if self._rest else [])
        self._file.close()

    def _print(self, lines: Iterable[bytes]) -> None:
        text = "".join(f"{self._before}{line.decode(errors='replace')}\n" for line in lines)
        if text:
            self._console.write(text)
            self._console.flush()
