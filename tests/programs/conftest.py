"""The programs are scripts: their folder is where they import from. Every test has a job's key of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from multiprocessing import resource_tracker

import pytest

from tests.programs import playing
from transports import keys

resource_tracker.ensure_running()  # once and for all, so that no test is blamed for its pipe


@pytest.fixture(autouse=True)
def job_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, "the key of this test")


@pytest.fixture(autouse=True)
def scripts_folder() -> Iterator[None]:
    sys.path.insert(0, str(playing.PROGRAMS))
    yield
    sys.path.remove(str(playing.PROGRAMS))
