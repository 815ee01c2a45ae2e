"""Measured links: equal on all ranks, and what auto chooses by."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch_dist.distributed import collectives, measure_links, measuring, world
from minitorch_dist.distributed.prepared import links_of
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.launching import launch
from minitorch_dist.sim import runner


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_all_ranks_measure_the_same(size: int) -> None:
    def body() -> Links:
        links = measure_links()
        assert links_of(world.current().default_group) == links
        return links

    found = launch(body, size, timeout=300)
    assert len(set(found)) == 1
    assert found[0].alpha > 0 and found[0].beta > 0


def test_a_simulated_network_is_measured_exactly() -> None:
    report = runner.run(measure_links, 3, net="sim://?latency=5us&rate=1GB/s&eager=2MB")
    for links in report.results:
        assert links.alpha == 5_000_000 and links.beta == 1000 and links.gamma == 0


def test_the_choice_follows_the_links() -> None:
    def body() -> list[str]:
        group = world.current().default_group
        chosen = []
        for links in (Links(10**12, 1), Links(1, 10**6)):
            measuring.use_links(group, links)
            collectives.all_reduce(group, np.ones(4096, np.float32))
            (recipe,) = set(group.prepared.values())
            chosen.append(recipe.schedule.name)
        return chosen

    for chosen in launch(body, 5, timeout=300):
        assert chosen[0] == "recursive_doubling" and chosen[1] in ("ring", "hierarchical")
