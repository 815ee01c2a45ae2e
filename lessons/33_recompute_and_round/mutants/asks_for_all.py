"""It asks for the gradients of all tensors, also of those that need none.

Whole numbers and frozen parameters have no gradient, and autograd says so with an error.

Caught by: correct, frozen inputs
Passes: same dice
"""

# BLANK 3: of everything
found = [*autograd.grad(output, tensors, gradient, allow_unused=True)]
# END
