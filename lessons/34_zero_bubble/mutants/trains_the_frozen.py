"""Each weight gets its gradient, a frozen one, too.

Autograd asks before it computes a gradient. Code that computes one by itself has to ask as well. AdamW then moves weights that should stay
as they are.

Caught by: split
Passes: exactly once, correct, never stuck, bubble, memory
"""

# BLANK 1: without asking
ctx.product.fresh.append((ctx.product, x, gradient))
return gradient @ weight.T, None, None
# END
