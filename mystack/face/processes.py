"""The processes of one machine: start a rank, and look after all that were started here."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from .contract import Clock

PACKAGE = __name__.rpartition(".face.")[0]
LOST = 75  # the exit status of a rank whose peer is gone
UNREAD = 76  # and of one whose output nobody reads any more: … | head
GRACE = 0.5  # seconds in which the others notice that one has ended


def say(line):
    """Print it; when nobody reads any more, this process ends."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        os._exit(UNREAD)


def start(asked):
    """One process. Which rank it will be, it learns in the store."""
    parts = PACKAGE.count(".") + 1
    root = str(Path(__file__).resolve().parents[parts])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return subprocess.Popen(
        [sys.executable, "-m", PACKAGE, "a-rank", json.dumps(asked)],
        env=os.environ | threads | {"PYTHONPATH": os.pathsep.join(paths)},
    )


def look_after(processes, limit=None, is_over=lambda: False):
    """Wait until all have ended; when one ends badly, the others shall end, too. Their exit statuses.

    When `is_over()` a rank of another machine has: then all here have lost a peer. After `limit` seconds all have status 1.
    """
    deadline = Clock.deadline(limit)
    try:
        while any(process.poll() is None for process in processes):
            if is_over():
                return [process.poll() or LOST for process in processes]
            if any(process.poll() for process in processes):
                time.sleep(GRACE)
                break
            if deadline.is_over():
                return [1] * len(processes)
            time.sleep(0.01)
        return [process.poll() or 0 for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
