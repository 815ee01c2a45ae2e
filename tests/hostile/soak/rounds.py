"""One round: a job is started, struck, and started again in the same place, at last without a blow. What is left?

    start ─► strike one of its processes, after a while ─► it ends ─► nobody is left? ─┐
      ▲                                                                                │ at most twice
      └────────────────────────────────── unless it was killed: no file is left ◄──────┘
    start, undisturbed ─► `right` ─► no process, no file, no memory, no socket is left

Home, temporary folder and (as root) shared memory are the round's own, so nothing of others is counted. Its
processes are known by a word in their environment, whatever has become of their parents.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

from transports import keys

WORD = "MINITORCH_DIST_SOAK"
SECONDS = 120.0  # for a job, before it hangs
AFTER = 30.0  # for its processes to end, once their launcher has
LASTS = 2.0  # seconds that a job takes, about, once its ranks have begun
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP)
LAUNCHED = {
    "queue": "queue://",
    "tcp": "tcp://",
    "file": "file://",
    "file (path)": "file://{folder}/world",
    "file (append)": "file://?mode=append",
    "file (folder, append)": "file://{folder}?mode=append",
    "mqtt": "mqtt://",
}
ELASTIC = {"mtdrun tcp": "tcp://", "mtdrun file": "file://", "mtdrun mqtt": "mqtt://"}
KINDS = ("struck", "wrong", "hangs", "processes", "files", "memory", "sockets")


class Outcome(NamedTuple):
    token: str
    wire: str
    program: str
    blows: list[str]
    faults: list[tuple[str, str]]  # kind (of KINDS), and what was seen
    said: str


class Round:
    """Everything of it is drawn from its token, `seed:number`."""

    def __init__(self, token: str, folder: Path, wires: dict[str, str], programs: list[str]) -> None:
        self.random = Random(f"soak/{token}")
        self.token, self.folder = token, folder
        self.wire = self.random.choice(list(wires))
        self.address = wires[self.wire].format(folder=folder / "job")
        self.program = self.random.choice(programs)
        self.size = self.random.choice((2, 3))
        self.blows: list[str] = []
        self.faults: list[tuple[str, str]] = []
        self._seen: set[Path] = set()
        self._begun = folder / "job" / "begun"
        for name in ("job", "home", "tmp", "shm"):
            (folder / name).mkdir(parents=True)

    def run(self) -> Outcome:
        before = _sockets()
        for _ in range(self.random.choice((1, 1, 2))):
            self._job(is_struck=True)
            if not self.blows or "SIGKILL" not in self.blows[-1]:
                self._look("tmp", "shm")  # only a killed job leaves anything for the next one to sweep away
        self._job(is_struck=False)
        self._look("tmp", "home", "shm", "job")
        if more := _sockets() - before:
            self.faults.append(("sockets", f"{sorted(more)}"))
        said = (self.folder / "said").read_text(errors="replace")
        return Outcome(self.token, self.wire, self.program, self.blows, self.faults, said)

    # ------------------------------------------------------------------------------------ one job

    def _command(self) -> list[str]:
        job = f"{self.folder / 'job'}"
        if not self.wire.startswith("mtdrun"):
            module = ["-m", "tests.hostile.soak.programs"]
            return [sys.executable, *module, self.program, self.address, f"{self.size}", job]
        options = ["--standalone", "--nproc-per-node", f"{self.size}", "--max-restarts", "1"]
        script = f"{Path(__file__).parent / 'programs.py'}"
        module = ["-m", "minitorch_dist.distributed.run", *options, "--shutdown-timeout", "5", script]
        return [sys.executable, *module, self.program, self.address, "0", job]

    def _job(self, is_struck: bool) -> None:
        environment = {
            **os.environ,
            WORD: self.token,
            "HOME": f"{self.folder / 'home'}",
            "TMPDIR": f"{self.folder / 'tmp'}",
            keys.VARIABLE: "the key of the soak",
            "PYTHONPATH": os.pathsep.join(map(str, (Path.cwd(), os.environ.get("PYTHONPATH", "")))),
        }
        self._begun.unlink(missing_ok=True)
        with (self.folder / "said").open("ab") as said:
            start = said.tell()
            job = subprocess.Popen(
                [*apart(self.folder / "shm"), *self._command()],
                env=environment,
                stdout=said,
                stderr=said,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                is_lost = is_struck and self._strike(job)
                code = job.wait(SECONDS)
            except subprocess.TimeoutExpired:
                is_lost, code = True, -1
                self.faults.append(("hangs", f"{self._at()}: it goes on after {SECONDS:g} s"))
                for pid in self._alive():
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                job.wait()
        text = (self.folder / "said").read_bytes()[start:].decode(errors="replace")
        if "WRONG" in text or (code == 0 and "right" not in text):
            self.faults.append(("wrong", f"{self._at()}: {text[-2000:]}"))
        elif code != 0 and not is_lost:
            self.faults.append(("wrong", f"{self._at()}: failed with {code}: {text[-2000:]}"))
        self._wait_for_all()

    def _strike(self, job: subprocess.Popen[bytes]) -> bool:
        """Whether somebody was lost by it."""
        is_early, until = self.random.random() < 0.2, time.monotonic() + SECONDS
        while not (is_early or self._begun.exists()) and job.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(LASTS * self.random.random() ** 2)
        victims = self._alive()
        draw, blow, rest = self.random.random(), self.random.choice(SIGNALS), self.random.random()
        if not victims:
            return False
        is_first = draw < 0.4 and job.pid in victims  # the launcher is only one of many
        pid = job.pid if is_first else self.random.choice(victims)
        who = "launcher" if pid == job.pid else "process"
        self.blows.append(f"{blow.name} to the {who}")
        with suppress(ProcessLookupError):
            os.kill(pid, blow)
            if blow == signal.SIGSTOP:
                time.sleep(0.05 + rest)
                os.kill(pid, signal.SIGCONT)
        return blow != signal.SIGSTOP

    def _at(self) -> str:
        return f"after {', '.join(self.blows) or 'nothing'}"

    # ---------------------------------------------------------------------------------- what is left

    def _alive(self) -> list[int]:
        """The processes of this round, in the order in which they began."""
        word, found = f"{WORD}={self.token}".encode(), []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                is_ours = word in (place / "environ").read_bytes().split(b"\0")
                if is_ours and (place / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                    found.append(int(place.name))
        return sorted(found)

    def _wait_for_all(self) -> None:
        until = time.monotonic() + AFTER
        while (left := self._alive()) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in left:
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                self.faults.append(("processes", f"{self._at()}: pid {pid}, {words[:200]}"))
                os.kill(pid, signal.SIGKILL)

    def _look(self, *places: str) -> None:
        """Files of these places, each told once."""
        job = self.folder / "job"
        known = {self._begun, job / "acknowledged", job / "checkpoint" / "index.json"}
        known |= {*(job / "checkpoint").glob("*-of-*.safetensors")}
        for name in places:
            for path in sorted((self.folder / name).rglob("*")):
                is_empty = path.is_dir() and name != "job" and not any(path.iterdir())
                if (path.is_file() and path not in known | self._seen) or is_empty:
                    kind = "memory" if name == "shm" else "files"
                    self.faults.append((kind, f"{self._at()}: {path.relative_to(self.folder)}"))
                    self._seen.add(path)


def apart(memory: Path) -> list[str]:
    """Words before a command, so that it has a shared memory of its own (Linux, root)."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return []
    script = f'mount --bind "{memory}" /dev/shm && exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]


def _sockets() -> set[str]:
    """The sockets in the file system, of all programs; ours would have no other place."""
    with suppress(OSError):
        lines = Path("/proc/net/unix").read_text().splitlines()
        names = {line.split()[-1] for line in lines if "/" in line}
        return {name for name in names if "minitorch" in name or "mtd" in name}
    return set()
