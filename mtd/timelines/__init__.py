"""The acts of each rank with their times (`sim.run(…, timelines=True)`), and the chain of them that the run's time is.

recorder        what a rank is told to note
owners          the module, bucket or stage for which it communicates
timeline        the notes of one rank
critical_path   the chain that nothing can shorten, backwards from the last rank's end
words           that chain as sentences
roles           ranks that did the same
attaching       it attaches to a run
"""

import sys

from minitorch_dist.inventory import plugs
from mtd.timelines.attaching import WithTimelines as WithTimelines
from mtd.timelines.roles import Timelines as Timelines

plugs.register("timelines", sys.modules[__name__])
