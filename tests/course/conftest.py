"""Nothing here may reach the course of whoever runs the tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def nobodys_course(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "nobody"))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
