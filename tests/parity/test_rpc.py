"""The same program over RPC, in torch and here: three processes each, over TCP."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.parity import oracle
from tests.ports import free_port

pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.slow]


BETTER = {
    "IndexError": ["raised", "IndexError"],  # torch: a RuntimeError, from an asynchronous call
    "own rref": ["True", "True"],  # torch: to_here on the owner copies a list
    "rref type": "'Counter'",  # torch: something without a name
}


def begin(library: str) -> list[subprocess.Popen[str]]:
    where = str(free_port())
    return [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.parity.rpc_program", library, str(rank), where],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]


def found(workers: list[subprocess.Popen[str]]) -> dict[str, Any]:
    said = [worker.communicate(timeout=oracle.SECONDS) for worker in workers]
    if any(worker.returncode for worker in workers):
        raise oracle.TorchFailed(said[0][1][-2000:])
    pairs = (line.partition(" ") for line in said[0][0].splitlines())
    parts = {name: json.loads(rest) for name, _, rest in pairs if name in ("found", "after")}
    return {**parts["found"], "shutdown twice": parts["after"]}


def played(library: str) -> dict[str, Any]:
    workers = begin(library)
    try:
        return found(workers)
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()  # and close its pipes: this attempt may not be the last


def test_every_line_comes_to_the_same() -> None:
    theirs, ours = oracle.asked(lambda: played("torch")), played("minitorch_dist")
    different = {
        name: (theirs[name], ours[name]) for name in theirs if BETTER.get(name, theirs[name]) != ours.get(name)
    }
    assert different == {}
