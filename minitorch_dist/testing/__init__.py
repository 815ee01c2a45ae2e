"""Tools for tests of distributed programs: strategies, checks, and training that is exact.

    assert_close(actual, expected)                torch.testing's: numbers, tensors, and what holds them
    check_collective(all_reduce)                  your collective: right, once, never stuck, how dear
    check_transport(make)                         your transport against the contract
    check_replicas_equal(model)                   on every rank: the same parameters, bit for bit
    check_same_as_one_rank(train)                 your parallel wrapper against one rank, bit for bit
    check_same_as_one_rank(train, model=…)        the same for any module, computed in a prime field (`field`)
    strategies.worlds(), .arrays(), .schedules(), .fault_plans()     for Hypothesis
    exact                                         training in which no operation rounds

They stand in `closeness`, `collectives` (with `trials`, `costs` and `verdict`), `media`, `replicas`; `strictness` makes a harder
world for sends. `mtd.grids.contributions` draws whose numbers are where.

A check that fails raises an AssertionError which says what is wrong in words.
"""

from minitorch_dist.testing.closeness import assert_close as assert_close
from minitorch_dist.testing.collectives import (
    check_collective as check_collective,
    replay_collective as replay_collective,
)
from minitorch_dist.testing.media import check_transport as check_transport
from minitorch_dist.testing.replicas import (
    check_replicas_equal as check_replicas_equal,
    check_same_as_one_rank as check_same_as_one_rank,
)
from minitorch_dist.testing.verdict import Verdict as Verdict
