"""Virtual time is the textbooks' table, in whole picoseconds: ranks that run, and all ranks at once."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch_dist import sim
from minitorch_dist.distributed.schedules import BUILT_IN
from minitorch_dist.distributed.schedules.schedule import ROOTED
from minitorch_dist.sim import topology_links
from minitorch_dist.sim.fast import lockstep
from tests.distributed.schedules.test_cost import ALPHA, BETA, FOLDED, GAMMA, TABLE, P, bytes_for
from tests.sim.programs import collective

NET = sim.uniform(ALPHA, BETA)
KEYS = [key for key in TABLE if TABLE[key].beta is not None]


def exact(key: tuple[str, str], p: P, n: int, gamma: int) -> int:
    row = TABLE[key]
    assert row.beta is not None
    found = row.rounds(p) * ALPHA + row.beta(p) * n * BETA + row.gamma(p) * n * gamma
    assert found == int(found)
    return int(found)


def per_rank(name: str, n: int, size: int) -> int:
    """Elements that `programs.collective` takes, for a vector of n bytes."""
    whole = name in ("all_reduce", "broadcast", "reduce", "barrier")
    return n // 4 if whole else n // 4 // size


@pytest.mark.parametrize("key", KEYS, ids=" ".join)
@pytest.mark.parametrize("gamma", [0, GAMMA])
def test_ranks_that_run_take_what_the_table_says(key: tuple[str, str], gamma: int) -> None:
    name, algorithm = key
    for size in (2, 3, 5, 8, 12):
        p = P(size)
        n = 0 if name == "barrier" else bytes_for(p)
        asymmetric = key == ("reduce", "binomial") or (p.r > 0 and algorithm in FOLDED)
        # eager sends land while a tree still adds, and who folds nothing is a step ahead
        net = sim.Network(NET, eager=0 if n else None) if asymmetric else NET
        what = (name, algorithm, per_rank(name, n, size))
        adding = f"{1000 // gamma}GB/s" if gamma else None
        if gamma and adding is not None:
            gamma = -(-1000 // (1000 // gamma))
        report = sim.run(collective, size, what, net=net, adding=adding)
        if algorithm == "rabenseifner" and p.r:  # ports serve who comes first, not who is asked for
            assert report.time >= exact(key, p, n, gamma)
        else:
            assert report.time == exact(key, p, n, gamma), size
        assert report.messages == TABLE[key].messages(p)
        sent = TABLE[key].sent
        if sent is not None:
            assert max(rank.bytes_sent for rank in report.ranks) == sent(p) * n


@pytest.mark.parametrize("key", [k for k in KEYS if k[0] not in ROOTED], ids=" ".join)
def test_all_ranks_at_once_take_what_the_table_says(key: tuple[str, str]) -> None:
    for size in [*range(2, 34), 64, 1024]:
        p, schedule = P(size), BUILT_IN[key]
        if p.r and key[1] in FOLDED:
            continue
        n = 0 if key[0] == "barrier" else bytes_for(p)
        zeros = np.zeros(size, np.int64)
        wires = topology_links.wires_of(NET, range(size))
        assert wires is not None
        chunks = schedule.sizes(size, n)
        moved = lockstep.move(schedule, chunks, wires, zeros, zeros, zeros)
        assert int(moved.clock.max()) == exact(key, p, n, 0), size
        meters = lockstep.meters(schedule, chunks, size)
        assert int(meters.messages.sum()) == TABLE[key].messages(p)
        assert int(meters.messages_in.sum()) == int(meters.messages.sum())
        assert int(meters.nbytes_in.sum()) == int(meters.nbytes.sum())
