"""The velocity begins with 0, so the first push is dampened, too. Without dampening nobody sees it.

Caught by: correct
Passes: golden, resumed
Seen: https://github.com/ml-explore/mlx/pull/473
"""

# BLANK 1: from zero
velocity = state.setdefault("momentum_buffer", torch.zeros_like(p))
velocity.mul_(momentum).add_(grad, alpha=1 - dampening)
# END
