"""pytest's fixture `ranks`: a test of a PyTorch program on simulated ranks, in one process and in virtual time.

    def test_my_wrapper(ranks):
        results = ranks(4).run(train)                      # what `train` returned, by rank
        ranks(4, faults=["drop=0.1"], seed=3).run(train)   # the options of sim.run
        ranks(4).same_as_one(train)                        # each rank has what one rank alone has

pytest finds it by itself (the group `pytest11` in setup.cfg). Torch is imported when a test asks for ranks.
"""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def ranks() -> Any:
    """`ranks(n, **options)`: so many simulated ranks for a function of PyTorch's."""
    from minitorch_dist.pytorch.ranks import Ranks

    return Ranks
