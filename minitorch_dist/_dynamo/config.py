"""torch._dynamo.config: `_dynamo.config.cache_size_limit = 64` is taken and directs nothing."""

import sys

from minitorch_dist.absent import CompilerSettings

sys.modules[__name__].__class__ = CompilerSettings
