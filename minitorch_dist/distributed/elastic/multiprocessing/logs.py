"""Where what workers print goes: to the console, to files (`--redirects`), or to both (`--tee`).

    <log dir>/<run id>_xxxxxxxx/attempt_<generation>/<local rank>/stdout.log, stderr.log, error.json

A tee is a file that the agent reads behind the worker's back, and prints with `[role0]:` before each
line. So a worker never waits for a console, and nothing that it wrote before it died is lost.
"""

from __future__ import annotations

import enum
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from transports import keeper
from transports.keeper import Held


class Std(enum.IntFlag):
    """Standard streams; torch's names and numbers."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, text: str) -> Std | dict[int, Std]:
        """`3` for all local ranks, or `0:1,1:2` by local rank."""
        if re.fullmatch(r"[0-3]", text):
            return cls(int(text))
        if re.fullmatch(r"\d+:[0-3](,\d+:[0-3])*", text):
            pairs = (pair.split(":") for pair in text.split(","))
            return {int(rank): cls(int(what)) for rank, what in pairs}
        raise ValueError(
            f"{text!r} says neither what to redirect on all local ranks (0 nothing, 1 stdout, 2 stderr, "
            "3 both) nor on some (0:1,1:3)"
        )


def of_rank(what: Std | Mapping[int, Std], local_rank: int) -> Std:
    return what if isinstance(what, Std) else what.get(local_rank, Std.NONE)


@dataclass(frozen=True)
class Wishes:
    """The options of the command line about output."""

    log_dir: str | None = None
    redirects: Std | Mapping[int, Std] = Std.NONE
    tee: Std | Mapping[int, Std] = Std.NONE
    local_ranks: frozenset[int] | None = None  # those that may use the console; None: all

    def has_files(self) -> bool:
        """Whether the user wants to find files afterwards."""
        wanted = [*(self.redirects.values() if isinstance(self.redirects, Mapping) else [self.redirects]),
                  *(self.tee.values() if isinstance(self.tee, Mapping) else [self.tee])]  # fmt: skip
        return self.log_dir is not None or any(wanted)


PREFIX = "mtdrun_"  # of folders that go with their agents


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
    """The two streams of one worker: files to hand to it, and what of them to repeat here."""

    def __init__(self, wishes: Wishes, folder: Path, local_rank: int, role: str) -> None:
        is_shown = wishes.local_ranks is None or local_rank in wishes.local_ranks
        self._opened: list[IO[bytes]] = []
        self._tails: list[_Tail] = []
        self.files: dict[Std, int | None] = {}
        for std, name, console in ((Std.OUT, "stdout.log", sys.stdout), (Std.ERR, "stderr.log", sys.stderr)):  # fmt: skip
            tee = bool(of_rank(wishes.tee, local_rank) & std)
            if tee or of_rank(wishes.redirects, local_rank) & std:
                path: Path | None = folder / name
            else:
                path = None if is_shown else Path("/dev/null")
            self.files[std] = None
            if path is not None:
                file = path.open("ab", buffering=0)
                self._opened.append(file)
                self.files[std] = file.fileno()
            if tee and is_shown and path is not None:
                self._tails.append(_Tail(path, f"[{role}{local_rank}]:", console))

    def pump(self) -> None:
        """Print what has come."""
        for tail in self._tails:
            tail.pump()

    def close(self) -> None:
        """Print the rest."""
        for tail in self._tails:
            tail.close()
        for file in self._opened:
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
        if self._rest:
            self._print([self._rest])
        self._file.close()

    def _print(self, lines: Iterable[bytes]) -> None:
        text = "".join(f"{self._before}{line.decode(errors='replace')}\n" for line in lines)
        if text:
            self._console.write(text)
            self._console.flush()
