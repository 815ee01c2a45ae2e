"""The processes of one node: `workers`, what they run first (`entry`), where their errors are written (`logs`)
and told (`errors`), and who ends them when the agent is killed (`warden`)."""

from __future__ import annotations

from minitorch_dist import not_offered
from minitorch_dist.distributed.elastic.multiprocessing.errors import (
    ProcessFailure as ProcessFailure,
)

not_offered.guard(globals())
