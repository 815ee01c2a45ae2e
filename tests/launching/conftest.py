"""Python's fork server stays; no test is blamed for its pipe."""

from __future__ import annotations

from multiprocessing import forkserver

import pytest


@pytest.fixture(scope="session", autouse=True)
def fork_server() -> None:
    forkserver.ensure_running()
