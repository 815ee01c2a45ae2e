"""torchrun as a function: `elastic_launch(LaunchConfig(…), train)(args)`."""

from __future__ import annotations

from minitorch_dist.distributed.launcher.api import (
    LaunchConfig as LaunchConfig,
    elastic_launch as elastic_launch,
    launch_agent as launch_agent,
)
