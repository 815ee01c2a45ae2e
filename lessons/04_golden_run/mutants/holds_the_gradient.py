"""The first velocity is the gradient itself and not a copy: who sets gradients to 0 sets it to 0, and pushes go into p.grad.

With zero_grad(), which drops gradients instead, nothing is seen of it.

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
