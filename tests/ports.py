"""Ports for programs that have to be told one before they listen.

A port that was bound and closed again is the next one that the system may give to anybody. So these
come from below those which systems hand out by themselves, each worker of the tests has a range of its
own, and no port is given twice.
"""

from __future__ import annotations

import os
import socket

FIRST, RANGE, WORKERS = 20_000, 2_000, 6  # systems begin at 32,768 (Linux) or higher

_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
_turn = os.getpid() * 7  # two runs on one machine hardly begin at the same place


def free_port() -> int:
    """One on which nobody of this host listens."""
    global _turn
    for _ in range(RANGE):
        _turn += 1
        port = FIRST + _worker * RANGE + _turn % RANGE
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError(f"all ports of worker {_worker} are taken")
