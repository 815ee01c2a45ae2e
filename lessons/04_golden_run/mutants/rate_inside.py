"""The rate is put into the velocity: the same numbers, as long as the rate never changes.

When it falls, what is left of earlier pushes still moves at the old rate.

Caught by: correct
Passes: golden, resumed, memory
Seen: https://github.com/apache/mxnet/issues/15533
Seen: https://github.com/pytorch/pytorch/issues/1099
"""

# BLANK 1: v = momentum · v + lr · gradient
if "momentum_buffer" not in state:
    state["momentum_buffer"] = lr * grad
else:
    state["momentum_buffer"].mul_(momentum).add_(grad, alpha=(1 - dampening) * lr)
velocity = state["momentum_buffer"]
# END

# BLANK 2: so the step is the velocity alone
if momentum:
    p.sub_(lr * grad + momentum * velocity if nesterov else velocity)
else:
    p.sub_(push, alpha=lr)
# END
