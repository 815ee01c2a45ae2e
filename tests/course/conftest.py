"""Nothing here may reach the course of the person who runs the tests; and torch's world is lived under `make parity` only."""

from __future__ import annotations

import pytest

from mtd.course import worlds
from mtd.course.worlds import Lived, TrainingSetup


def _not_now(setting: TrainingSetup) -> Lived:
    return Lived(worlds.TORCH, 0, [], [], skipped="this test is not marked parity")


@pytest.fixture(autouse=True)
def torch_is_for_parity(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("parity") is None:
        monkeypatch.setitem(worlds.WORLDS, worlds.TORCH, _not_now)


@pytest.fixture(autouse=True)
def nobodys_course(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "nobody"))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
