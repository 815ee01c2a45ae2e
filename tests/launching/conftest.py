"""Python's fork server runs before the tests of a module begin, so no test is blamed for its pipe. Other tests stop it."""

from __future__ import annotations

from multiprocessing import forkserver

import pytest


@pytest.fixture(scope="module", autouse=True)
def fork_server() -> None:
    forkserver.ensure_running()
