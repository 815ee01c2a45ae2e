"""Networks as they are built: which links a message passes, from each rank to each other one.

    mesh((4, 8), link)                    neighbours in a grid are joined
    torus((4, 4, 4), link)                … and the ends of each line, too
    fat_tree(4, 8, 2, link)               4 leaf switches of 8 ranks each, joined by 2 spine switches
    rails(4, 8, nvlink, rail)             4 nodes of 8 GPUs: NVLink inside, one network port for each GPU
    dragonfly(9, 4, 2, 2, link)           9 groups of 4 routers with 2 ranks; 2 links of each router go far

Each is a small class with a method `route` (see `transports.virtual.topology`): the way depends on its two
ends alone, by the rule of the textbook. `places` is how many ranks it holds. No rank's ports beat its
`link`, or its `fastest` where it has several kinds (for bounds).
"""

from __future__ import annotations

from minitorch_dist.sim.topologies.dragonfly import Dragonfly as Dragonfly, dragonfly as dragonfly
from minitorch_dist.sim.topologies.fat_tree import FatTree as FatTree, fat_tree as fat_tree
from minitorch_dist.sim.topologies.mesh import MeshNetwork as MeshNetwork, mesh as mesh, torus as torus
from minitorch_dist.sim.topologies.rails import Rails as Rails, rails as rails
from transports.virtual.topology import Topology


def check(topology: Topology, size: int) -> None:
    """ValueError if a world of `size` ranks has no place on that network; TypeError if it is none."""
    if not callable(getattr(topology, "route", None)):
        raise TypeError(f"{topology!r} is not a network: take a topology, a Network or a text")
    places = getattr(topology, "places", None)
    if places is None:
        return
    if getattr(topology, "is_whole", False) and size != places:
        raise ValueError(
            f"{topology} has {places} places, but the world has {size} ranks: the sides of a torus "
            "multiply to the size of the world. For a part of a torus take sim.mesh(…, wraps=True)"
        )
    if size > places:
        raise ValueError(f"rank {places} has no place: {topology} holds {places} ranks, and the world has {size}")
