"""Training in parallel gives the same bits as before, in all the usual ways.

`frozen/parallel.json` was written by `python -m tests.distributed.frozen.parallel`. It is written anew only where
a change of results is what was wanted.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.distributed.frozen import parallel

DATA: dict[str, Any] = json.loads(parallel.DATA.read_text())


@pytest.mark.parametrize("size", parallel.SIZES)
@pytest.mark.parametrize("part", parallel.PARTS)
def test_the_bits_are_those_of_before(part: str, size: int) -> None:
    assert parallel.frozen(part, size) == DATA[part][str(size)]
