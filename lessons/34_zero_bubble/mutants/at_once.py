"""The gradient of the weight is computed in I, as in any backward.

All results are right, and W has nothing left to do. So nothing can fill the bubble.

Caught by: split
Passes: exactly once, correct, never stuck
"""

# BLANK 1: both gradients
return gradient @ weight.T, x.T @ gradient if ctx.needs_input_grad[1] else None, None
# END
