"""The links that are declared are what auto chooses by."""

from __future__ import annotations

import numpy as np

from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.prepared import use_links
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.launching import launch


def test_the_choice_follows_the_links() -> None:
    def body() -> list[str]:
        group = world.current().default_group
        chosen = []
        for links in (Links(10**12, 1), Links(1, 10**6)):
            use_links(group, links)
            collectives.all_reduce(group, np.ones(4096, np.float32))
            (recipe,) = set(group.prepared.values())
            chosen.append(recipe.schedule.name)
        return chosen

    for chosen in launch(body, 5, timeout=300):
        assert chosen[0] == "recursive_doubling" and chosen[1] in ("ring", "hierarchical", "circulant")
