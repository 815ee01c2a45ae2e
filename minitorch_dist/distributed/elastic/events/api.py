"""torch's address of what an event is."""

from minitorch_dist.distributed.elastic.events import (
    Event as Event,
    EventSource as EventSource,
    NodeState as NodeState,
    RdzvEvent as RdzvEvent,
)
