"""Every test has a job's key of its own, also in the processes it starts; no home is touched."""

from __future__ import annotations

from multiprocessing import resource_tracker

import pytest

from transports import keys

resource_tracker.ensure_running()  # once and for all, so that no test is blamed for its pipe


@pytest.fixture(autouse=True)
def job_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, "the key of this test")
