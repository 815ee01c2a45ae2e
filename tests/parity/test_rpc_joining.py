"""Workers that join one by one, in torch and here: the same scene, and what each line of it came to.

Only what torch does without hanging: there, one refused name or number blocks all joining for good.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from tests.ports import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parity,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
]
SCENE = [  # the process, and what it is told
    (0, "join('w0', 0)"),
    (0, "join('again', 0)"),
    (0, "infos()"),
    (0, "rpc.rpc_sync('w0', add, (1, 2))"),
    (0, "rpc.rpc_sync('w1', add, (1, 2))"),
    (0, "rpc.get_worker_info('w1')"),
    (1, "rpc.rpc_sync('w0', add, (1, 2))"),
    (1, "join('w1', 1)"),
    (0, "infos()"),
    (1, "infos()"),
    (0, "rpc.rpc_sync('w1', add, (1, 2))"),
    (1, "rpc.rpc_sync(0, add, (3, 2))"),
    (2, "join('w2', 5)"),
    (0, "infos()"),
    (1, "rpc.rpc_sync(5, add, (3, 3))"),
    (2, "rpc.rpc_sync('w1', add, (3, 4))"),
    (1, "rpc.shutdown()"),
    (0, "infos()"),
    (2, "infos()"),
    (1, "infos()"),
    (2, "rpc.rpc_sync('w1', add, (1, 2))"),
    (0, "rpc.rpc_sync(1, add, (1, 2))"),
    (3, "join('w1', 1)"),  # another process, under the name and number of the one that left
    (0, "infos()"),
    (3, "rpc.rpc_sync('w2', add, (4, 4))"),
]  # where w0 calls the new w1, torch takes the broken connection to the old one, and fails


def played(library: str) -> list[str]:
    port = str(free_port())
    command = [sys.executable, "-W", "ignore", "-m", "tests.parity.joining_program", library, port]
    workers = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    said = []
    try:
        for number, line in SCENE:
            worker = workers[number]
            assert worker.stdin is not None and worker.stdout is not None
            worker.stdin.write(f"{line}\n")
            worker.stdin.flush()
            said.append(f"{number}: {line}: {worker.stdout.readline().strip()}")
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    return said


def test_the_same_scene() -> None:
    ours, theirs = played("minitorch_dist"), played("torch")
    assert ours == theirs
    assert "raised RuntimeError" in ours[4] and ours[-1].endswith(": 8")
