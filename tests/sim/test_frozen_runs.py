"""Whatever changes inside the simulator: the same reports as before, on all networks and with all that attaches.

`frozen/frozen.json` was written by `python -m tests.sim.frozen.program`. It is written anew only where a change of
results is what was wanted.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sim.frozen import program

DATA: dict[str, Any] = json.loads(program.DATA.read_text())


@pytest.mark.parametrize("size", program.SIZES)
@pytest.mark.parametrize("part", list(program.PARTS))
def test_runs_are_those_of_before(part: str, size: int) -> None:
    assert program.PARTS[part](size) == DATA[part][str(size)]
