"""mtdrun, while its agent or one of its workers is struck: it ends, says so, and leaves nobody behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.hostile.faults.nursery import Fell
from tests.hostile.judging import Verdict
from tests.hostile.running import Part, Tried

SECONDS = 80.0
SCRIPT = """
import os, sys
from pathlib import Path
import minitorch_dist as mtd, minitorch_dist.distributed as dist
dist.init_process_group("tcp")
Path(sys.argv[1], f"worker-{dist.get_rank()}-{os.getpid()}").touch()
for turn in range(400):
    x = mtd.ones(4)
    dist.all_reduce(x)
    assert x.tolist() == [float(dist.get_world_size())] * 4
dist.destroy_process_group()
"""


class Launches:
    def __init__(self, seed: int, folder: Path) -> None:
        self.seed, self.folder = seed, folder
        self.script = folder / "script.py"
        self.script.write_text(SCRIPT)

    def attempt(self, number: int) -> Tried:
        random = Random(f"fault-mtdrun/{self.seed}/{number}")
        place = self.folder / f"{number}"
        place.mkdir()
        whom = random.choice(("worker", "worker", "agent", "nobody"))
        blow = random.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSTOP))
        restarts = random.choice((0, 1))
        words = [
            sys.executable, "-m", "minitorch_dist.distributed.run", "--standalone", "--nproc-per-node", "2",
            "--max-restarts", f"{restarts}", "--shutdown-timeout", "5", f"{self.script}", f"{place}",
        ]  # fmt: skip
        with (place / "said").open("wb") as said:
            agent = subprocess.Popen(words, stdout=said, stderr=said, start_new_session=True)
            try:
                workers = self._workers(place, agent)
                time.sleep(random.uniform(0, 0.3))
                target = {"worker": workers[:1], "agent": [agent.pid], "nobody": []}[whom]
                for pid in target:
                    with suppress(ProcessLookupError):
                        os.kill(pid, blow)
                        if blow == signal.SIGSTOP:
                            time.sleep(0.5)
                            os.kill(pid, signal.SIGCONT)
                code = agent.wait(SECONDS)
            except subprocess.TimeoutExpired:
                raise Fell(f"hang: mtdrun goes on {SECONDS:g} s after {blow.name} of the {whom}") from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(agent.pid, signal.SIGKILL) if agent.poll() is None else None
                agent.wait()
        self._nobody_left(place)
        text = (place / "said").read_text(errors="replace")
        is_harmless = whom == "nobody" or blow == signal.SIGSTOP
        if is_harmless and code != 0:
            raise Fell(f"mtdrun failed with {code}, though nobody was lost: {text[-3000:]}")
        if code != 0 and whom == "worker" and not text:
            raise Fell(f"mtdrun ended with {code} and said nothing")
        return Tried(Verdict("refused" if code else "accepted"))

    def _workers(self, place: Path, agent: subprocess.Popen[bytes]) -> list[int]:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and agent.poll() is None:
            found = sorted(place.glob("worker-*"))
            if len(found) >= 2:
                return [int(path.name.rpartition("-")[2]) for path in found]
            time.sleep(0.01)
        return []

    def _nobody_left(self, place: Path) -> None:
        """Workers whose agent was killed see it and end."""
        until = time.monotonic() + SECONDS
        pids = [int(path.name.rpartition("-")[2]) for path in place.glob("worker-*")]
        while time.monotonic() < until:
            alive = [pid for pid in pids if _is_alive(pid)]
            if not alive:
                return
            time.sleep(0.02)
        for pid in alive:
            os.kill(pid, signal.SIGKILL)
        raise Fell(f"left behind: workers {alive}")

    def close(self) -> None: ...


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def part() -> Part:
    return Part("fault-mtdrun", "fault", Launches, 1.5)
