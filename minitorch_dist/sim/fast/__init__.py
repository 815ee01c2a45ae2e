"""Fast forms of a run's collectives. They are the same to the bit and to the picosecond, and stand beside the simple one.

batched_engine       all ranks together, where that is exact
lockstep             the clocks of all ranks, moved together
collective_results   the numbers that a collective puts into all ranks' arrays
vectorised_values    the same for all ranks at once
addition_order       in which order each chunk is added up, and sums in this order
payloadless          messages of a collective without their bytes
pending_collective   a collective for which its ranks gather; those of arrays without numbers
"""

import os

from minitorch_dist.sim import message_engine
from minitorch_dist.sim.fast.batched_engine import BatchedEngine

if os.environ.get("MINITORCH_DIST_SIMPLE") != "1":
    message_engine.register(BatchedEngine)
