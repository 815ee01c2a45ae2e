"""Every test has a job's key of its own, also in the processes it starts; no home is touched."""

from __future__ import annotations

import pytest

from transports import keys


@pytest.fixture(autouse=True)
def job_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, "the key of this test")
