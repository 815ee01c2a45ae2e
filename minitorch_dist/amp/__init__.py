"""Mixed precision: `autocast` chooses types (see `tensors.ops.autocasting`), `GradScaler` keeps small gradients."""

from minitorch_dist import not_offered
from minitorch_dist.amp.autocast_mode import autocast as autocast
from minitorch_dist.amp.grad_scaler import GradScaler as GradScaler

not_offered.guard(globals())
