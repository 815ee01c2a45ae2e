"""The notes stay after W.

All results are right, but each x is held until the step is over. So the stage needs the memory of GPipe.

Caught by: split, memory
Passes: exactly once, correct, never stuck, bubble
"""

# BLANK 3: read, and not taken out
for product, x, gradient in self.late[k]:
    part, before = x.T @ gradient, product.weight.grad
    product.weight.grad = part if before is None else before + part
# END
