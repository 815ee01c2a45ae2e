"""Pipelines: a model in stages on several ranks, a batch in micro-batches, an order for each rank.

Read from the ground up: `orders` (what is computed after what: data), `timing` (when, and
what it costs), `pictures`. Then read `microbatch` (a batch in parts), `stage` (one part of the model),
`wires` (what is sent), `runtime` (an order carried out), and `schedules` (torch's classes).
"""

from minitorch_dist.distributed.pipelining.schedules import (
    PipelineScheduleMulti as PipelineScheduleMulti,
    PipelineScheduleSingle as PipelineScheduleSingle,
    Schedule1F1B as Schedule1F1B,
    ScheduleGPipe as ScheduleGPipe,
    ScheduleInterleaved1F1B as ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble as ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS as ScheduleLoopedBFS,
    get_schedule_class as get_schedule_class,
)
from minitorch_dist.distributed.pipelining.stage import PipelineStage as PipelineStage
from minitorch_dist.inventory import not_offered

not_offered.guard(globals())
