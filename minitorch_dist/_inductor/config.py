"""torch._inductor.config: `_inductor.config.coordinate_descent_tuning = True` is taken and directs nothing."""

import sys

from minitorch_dist.absent import CompilerSettings

sys.modules[__name__].__class__ = CompilerSettings
