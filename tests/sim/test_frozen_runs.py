"""Whatever changes inside the simulator: the same reports as before, on all networks and with all that attaches.

`frozen/frozen.json` was written by `python -m tests.sim.frozen.program`. It is written anew only where a change of
results is what was wanted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from minitorch_dist.sim import message_engine
from minitorch_dist.sim.message_engine import MessageEngine
from tests.fast_forms import needs_fast_forms
from tests.sim.frozen import program

DATA: dict[str, Any] = json.loads(program.DATA.read_text())


@needs_fast_forms
@pytest.mark.parametrize("size", program.SIZES)
@pytest.mark.parametrize("part", list(program.PARTS))
def test_runs_are_those_of_before(part: str, size: int) -> None:
    assert program.PARTS[part](size) == DATA[part][str(size)]


@pytest.mark.parametrize("size", program.SIZES)
@pytest.mark.parametrize("part", list(program.PARTS))
def test_they_are_the_same_without_the_fast_forms(part: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where clocks are moved together (`lockstep`) has a run another digest, as no message departs."""
    monkeypatch.setattr(message_engine, "_kinds", [MessageEngine])
    found, frozen = program.PARTS[part](size), DATA[part][str(size)]
    assert {name: said for name, said in found.items() if not name.endswith("lockstep")} == {
        name: said for name, said in frozen.items() if not name.endswith("lockstep")
    }


@needs_fast_forms
def test_the_environment_leaves_the_fast_forms_out() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "from minitorch_dist.sim import message_engine as e; print(e._kinds[-1].__name__)"],
        env={**os.environ, "MINITORCH_DIST_SIMPLE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == "MessageEngine\n"
    assert message_engine._kinds[-1].__name__ == "BatchedEngine"
