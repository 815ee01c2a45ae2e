"""The workers of one node in one generation: processes that are started and ended together.

Each leads a process group of its own. So processes that a worker has started end with it. Ctrl-C reaches
the agent alone, which passes it on once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from minitorch_dist.distributed.elastic.multiprocessing import errors
from minitorch_dist.distributed.elastic.multiprocessing.errors import ProcessFailure
from minitorch_dist.distributed.elastic.multiprocessing.warden import Warden
from minitorch_dist.multiprocessing import ending, sigint
from transports.clock import SYSTEM, Deadline

ENTRY = Path(__file__).with_name("entry.py")
LOCAL_RANK = "${local_rank}"  # in an argument: this worker's
LINGER = 10.0  # seconds that a process may go on after its script has raised
GRACE = 1.0  # seconds for what a worker leaves behind, then it is asked, then killed


@dataclass(frozen=True)
class WorkerProgram:
    """The program of every worker. `kind` is `script`, `module` or `command`; see `entry`."""

    kind: str
    target: str
    arguments: Sequence[str] = ()

    def command(self, local_rank: int) -> list[str]:
        arguments = [each.replace(LOCAL_RANK, str(local_rank)) for each in self.arguments]
        entry = [sys.executable, "-u", "-X", "faulthandler", str(ENTRY)]
        return [*entry, str(os.getpid()), self.kind, self.target, *arguments]

    def __str__(self) -> str:
        return self.target


class WorkerProcess:
    """One process; see `ending.Process`."""

    def __init__(self, program: WorkerProgram, local_rank: int, environment: Mapping[str, str], is_alone: bool) -> None:
        self.local_rank = local_rank
        # Only who is in the terminal's foreground may read from it: a single worker (for pdb), which
        # hears Ctrl-C from the terminal itself. Several find its input at an end.
        is_terminal = sys.stdin is not None and sys.stdin.isatty()
        self._leads = not (is_alone and is_terminal)
        self.rank = int(environment["RANK"])
        self._lingering: Deadline | None = None
        self.error_file = environment["TORCHELASTIC_ERROR_FILE"]
        with sigint.without_sigint():  # `entry` lets it hear
            self._process = subprocess.Popen(
                program.command(local_rank),
                env={**os.environ, **environment},
                process_group=0 if self._leads else None,
                stdin=subprocess.DEVNULL if is_terminal and self._leads else None,
            )
        self.pid = self._process.pid
        self.sentinel = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else -1

    @property
    def group(self) -> int | None:
        """The process group that it leads."""
        return self.pid if self._leads else None

    @property
    def exitcode(self) -> int | None:
        return self._process.poll()

    def kill_group(self, what: signal.Signals) -> bool:
        """Tell the worker and all that it has started; whether anybody is left."""
        try:
            if self._leads:
                os.killpg(self.pid, what)
            elif what != signal.SIGINT and self.exitcode is None:
                os.kill(self.pid, what)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def has_left_somebody(self) -> bool:
        """It has ended, and something that it started has not."""
        if self.exitcode is None or not self._leads:
            return False
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, 0)
            return True
        return False

    def has_failed(self) -> bool:
        """It has ended badly, or should have: its script has raised, but a thread that it has
        started keeps the process."""
        if self.exitcode is None and errors.read(self.error_file)[1].get("is_over"):
            self._lingering = self._lingering or SYSTEM.deadline(LINGER)
            return self._lingering.is_over()
        return bool(self.exitcode)

    def failure(self) -> ProcessFailure:
        code = self.exitcode or 1
        return ProcessFailure(self.local_rank, self.pid, code, self.error_file, rank=self.rank)

    def close(self) -> None:
        if self.sentinel >= 0:
            os.close(self.sentinel)
            self.sentinel = -1


class WorkerGroup:
    """All workers of this node."""

    def __init__(
        self,
        program: WorkerProgram,
        environments: Sequence[Mapping[str, str]],
        generation: int,
        folder: Path,
        warden: Warden,
    ) -> None:
        self.generation, self._warden = generation, warden
        self.all: list[WorkerProcess] = []
        self._told: set[signal.Signals] = set()
        try:
            for local_rank, environment in enumerate(environments):
                place = folder / f"attempt_{generation}" / str(local_rank)
                place.mkdir(parents=True, exist_ok=True)
                own = {**environment, "TORCHELASTIC_ERROR_FILE": str(place / "error.json")}
                worker = WorkerProcess(program, local_rank, own, len(environments) == 1)
                self.all.append(worker)
                if worker.group is not None:
                    warden.watch_over(worker.group)
        except BaseException:
            self.end(signal.SIGKILL, 0.0)
            raise

    def wait(self, seconds: float) -> None:
        """Return when a worker ends, or after so long."""
        running = [worker for worker in self.all if worker.exitcode is None]
        if running:
            ending.await_any(running, seconds)
        else:
            SYSTEM.sleep(seconds)

    def are_running(self) -> bool:
        return any(worker.exitcode is None for worker in self.all)

    def are_done(self) -> bool:
        return all(worker.exitcode == 0 for worker in self.all)

    def failures(self) -> list[ProcessFailure]:
        return [worker.failure() for worker in self.all if worker.has_failed()]

    def tell(self, what: signal.Signals) -> None:
        """Once: a handler that cleans up after Ctrl-C is not to be interrupted by a second one."""
        if what in self._told:
            return
        self._told.add(what)
        for worker in self.all:
            if worker.exitcode is None:
                worker.kill_group(what)

    def end(
        self,
        what: signal.Signals = signal.SIGTERM,
        patience: float = 30.0,
        is_urgent: Callable[[], bool] = lambda: False,
    ) -> None:
        """Return when none is left, nor anything that they have started: told `what`, killed after
        `patience` seconds, or when it `is_urgent`."""
        self.tell(what)
        deadline = SYSTEM.deadline(patience)
        while self.are_running():
            if deadline.is_over() or is_urgent():
                self.tell(signal.SIGKILL)
            self.wait(ending.SLICE)
        for parting in (None, signal.SIGTERM, signal.SIGKILL):
            left = [worker for worker in self.all if worker.has_left_somebody()]
            for worker in left:
                if parting is not None:
                    worker.kill_group(parting)
            deadline = SYSTEM.deadline(GRACE)
            while left and not deadline.is_over():
                SYSTEM.sleep(ending.SLICE)
                left = [worker for worker in left if worker.has_left_somebody()]
        for worker in self.all:
            if worker.group is not None:
                self._warden.forget(worker.group)
            worker.close()
