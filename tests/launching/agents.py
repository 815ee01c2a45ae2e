"""Agents as processes, and the small scripts that their workers run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.launching.waiting import PATIENCE

RUN = "minitorch_dist.distributed.run"
QUICK = "last_call_timeout=0.2,keep_alive_interval=0.2,keep_alive_max_attempt=30,join_timeout=60"


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PET_", "TORCHELASTIC"))}
    return {**kept, "PYTHONPATH": str(Path.cwd()), "OMP_NUM_THREADS": "1", **more}


def run(*args: Any, module: str = RUN, **more: Any) -> subprocess.CompletedProcess[str]:
    """A launcher to its end."""
    variables = more.pop("variables", {})
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, args)],
        capture_output=True,
        text=True,
        env=environment(**variables),
        timeout=PATIENCE,
        check=False,
        **more,
    )


@contextmanager
def agents() -> Iterator[Any]:
    """A function that starts agents; none is left afterwards."""
    started: list[subprocess.Popen[str]] = []

    def start(*args: Any, **more: str) -> subprocess.Popen[str]:
        agent = subprocess.Popen(
            [sys.executable, "-m", RUN, *map(str, args)],
            env=environment(**more),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        started.append(agent)
        return agent

    try:
        yield start
    finally:
        for agent in started:
            if agent.poll() is None:
                os.killpg(agent.pid, signal.SIGKILL)
            agent.communicate()


def written(folder: Path, name: str, text: str, args: Sequence[Any] = ()) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
