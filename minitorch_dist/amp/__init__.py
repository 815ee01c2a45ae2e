"""Mixed precision: `autocast` chooses types (see `tensors.ops.autocasting`), `GradScaler` keeps small gradients."""

from minitorch_dist import not_offered
from minitorch_dist.amp.autocast_mode import (
    autocast as autocast,
    custom_bwd as custom_bwd,
    custom_fwd as custom_fwd,
)
from minitorch_dist.amp.grad_scaler import GradScaler as GradScaler

not_offered.guard(globals())
