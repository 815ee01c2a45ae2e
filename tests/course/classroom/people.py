"""A teacher and students as real processes: `mtd class host` on a pipe, and `mtd class join`, many at once.

The students are forked from one process that has imported everything once: sixteen interpreters that each import
numpy would take longer than the class.
"""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).parents[3]
PATIENCE = 300.0  # seconds, on a loaded machine
WORD = "maple-river-otter-cloud"

NURSERY = """
import os, sys
import mtd.cli.classroom.joining
from mtd.cli import main
from mtd.course.classroom import training
training.script(), training.golden()
address, word, *names = sys.argv[1:]
for name in names:
    pid = os.fork()
    if pid == 0:
        out = os.open(f"{names.index(name)}.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(out, 1), os.dup2(out, 2)
        status = main(["class", "join", address, "--word", word, "--name", name])
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(status)
    print(pid, name, flush=True)
for _ in names:
    pid, status = os.waitpid(-1, 0)
    print("end", pid, os.waitstatus_to_exitcode(status), flush=True)
"""


class Program:
    """A process whose lines are read as they come."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self.lines: list[str] = []
        self._fresh: queue.Queue[str | None] = queue.Queue()
        self.process = subprocess.Popen(
            [sys.executable, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            text=True,
            env={**os.environ, "PYTHONPATH": str(HERE), "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"},
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._fresh.put(line.rstrip("\n"))
        self._fresh.put(None)

    def wait_for(self, wanted: str | Callable[[list[str]], bool]) -> list[str]:
        """Until a line matches, or all lines so far do; all lines."""
        test = wanted if callable(wanted) else lambda lines: any(re.search(wanted, line) for line in lines)
        end = time.monotonic() + PATIENCE
        while not test(self.lines):
            try:
                line = self._fresh.get(timeout=max(end - time.monotonic(), 0.01))
            except queue.Empty:
                raise AssertionError(f"waited for {wanted}, and there came:\n" + "\n".join(self.lines)) from None
            assert line is not None, f"it ended without {wanted}:\n" + "\n".join(self.lines)
            self.lines.append(line)
        return self.lines

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str]:
        """Its status and all it said, when it has ended by itself."""
        status = self.process.wait(PATIENCE)
        self._reader.join()
        while (line := self._fresh.get()) is not None:
            self.lines.append(line)
        return status, "\n".join(self.lines)

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


LENIENT = """
import sys
from mtd.cli import main
from mtd.course.classroom import seats
seats.SILENT, seats.BLAMED = 60.0, 8.0
sys.exit(main(sys.argv[1:]))
"""


class Teacher(Program):
    """`is_lenient`: a laptop is gone after a minute, and not after seconds. Sixteen of them, on one machine
    that has other work too, may all be silent for longer than those."""

    def __init__(self, folder: Path, *options: str, is_lenient: bool = False) -> None:
        words = [
            *(["-c", LENIENT] if is_lenient else ["-m", "mtd"]),
            "class",
            "host",
            "--port",
            "0",
            "--listen",
            "127.0.0.1",
            "--word",
            WORD,
        ]
        super().__init__([*words, *options], folder)

    @property
    def address(self) -> str:
        lines = self.wait_for(r"mtd class join 127\.0\.0\.1:\d+")
        return next(m[1] for line in lines if (m := re.search(r"join (\S+)", line)))


class Students(Program):
    """Those of these names, in one process each."""

    def __init__(self, folder: Path, address: str, names: Sequence[str]) -> None:
        self.folder, self.names = folder, list(names)
        super().__init__(["-c", NURSERY, address, WORD, *names], folder)
        self.wait_for(lambda lines: len(lines) >= len(names))
        first = [line.partition(" ") for line in self.lines[: len(names)]]
        self.pids = {name: int(pid) for pid, _, name in first}

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        os.kill(self.pids[name], number)

    def said(self, name: str) -> str:
        return (self.folder / f"{self.names.index(name)}.txt").read_text(encoding="utf-8")

    def statuses(self) -> dict[str, int]:
        """How each ended, once all have."""
        self.wait_for(lambda lines: sum(line.startswith("end") for line in lines) == len(self.names))
        of = {pid: name for name, pid in self.pids.items()}
        ends = [line.split() for line in self.lines if line.startswith("end")]
        return {of[int(pid)]: int(status) for _, pid, status in ends}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while not self._fresh.empty() and (line := self._fresh.get()) is not None:
            self.lines.append(line)
        done = {int(line.split()[1]) for line in self.lines if line.startswith("end")}
        for pid in self.pids.values():
            if pid not in done and self.process.poll() is None:  # until then nobody else has this number
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        super().__exit__(kind, error, trace)
