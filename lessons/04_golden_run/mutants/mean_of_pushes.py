"""Each push counts (1 - momentum), so the velocity is a running mean: another rule, with steps ten times as small.

Caught by: correct, golden
Seen: https://github.com/HIPS/autograd/issues/289
"""

# BLANK 1: another rule
if "momentum_buffer" not in state:
    state["momentum_buffer"] = (1 - momentum) * grad
else:
    state["momentum_buffer"].mul_(momentum).add_(grad, alpha=1 - momentum)
velocity = state["momentum_buffer"]
# END
