"""The processes of one node.

workers   the processes, and how they are ended
entry     what each of them runs first
errors    what they fail of
logs      the folder for their errors
warden    a process that ends them when the agent is killed
"""

from __future__ import annotations

from minitorch_dist.distributed.elastic.multiprocessing.errors import ProcessFailure as ProcessFailure
from minitorch_dist.inventory import not_offered

not_offered.guard(globals())
