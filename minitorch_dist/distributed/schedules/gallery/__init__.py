"""The gallery: algorithms of recent papers, each in some twenty lines, with its paper and its domain.

    circulant                  reduce_scatter, all_gather, all_reduce      any number of ranks
    swing                      reduce_scatter, all_gather, all_reduce      powers of two
    bine                       broadcast, reduce                           powers of two
    pat                        reduce_scatter, all_gather                  any number of ranks
    recursive_multiplying      all_reduce                                  any number of ranks
    rails                      the three of circulant, and all_to_all      any number, best whole nodes

They are opened when an algorithm is chosen for the first time. `auto` weighs circulant and rails, which are cheapest in
places. The others are cheaper on networks of which a link's cost says nothing, such as a torus. They run by their names.
"""

from minitorch_dist.distributed.schedules.gallery import bine, circulant, pat, rails, recursive_multiplying, swing
from minitorch_dist.distributed.schedules.schedule import GALLERY

__all__ = ["GALLERY", "bine", "circulant", "pat", "rails", "recursive_multiplying", "swing"]
