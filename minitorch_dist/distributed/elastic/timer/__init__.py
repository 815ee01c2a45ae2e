"""A worker that takes longer than it said is killed by a watchman, so that the agent can start it again.

parent     queue = multiprocessing.get_context("spawn").Queue()
           server = LocalTimerServer(queue, max_interval=1); server.start()
worker     configure(LocalTimerClient(queue))
           with expires(after=60):
               step()                      longer than a minute: SIGKILL
"""

from minitorch_dist.distributed.elastic.timer.api import (
    RequestQueue as RequestQueue,
    TimerClient as TimerClient,
    TimerRequest as TimerRequest,
    TimerServer as TimerServer,
    configure as configure,
    expires as expires,
)
from minitorch_dist.distributed.elastic.timer.local_timer import (
    LocalTimerClient as LocalTimerClient,
    LocalTimerServer as LocalTimerServer,
)
