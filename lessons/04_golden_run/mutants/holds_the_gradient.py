"""The first velocity is the gradient itself and not a copy.

If gradients are set to 0, the velocity is set to 0, too, and pushes go into p.grad.

With zero_grad(), which drops gradients instead, nobody notices it.

Caught by: micro-batches
Passes: golden, resumed
Seen: https://github.com/shivram1987/diffGrad/issues/2
"""

# BLANK 1: no clone
if "momentum_buffer" not in state:
    state["momentum_buffer"] = grad
else:
    state["momentum_buffer"].mul_(momentum).add_(grad, alpha=1 - dampening)
velocity = state["momentum_buffer"]
# END
