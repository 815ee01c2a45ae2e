"""Enter sums up in the gradient that it was given.

Autograd may have given the same tensor to somebody else, such as the other arm of a residual, which then has the sum as well.

Caught by: enter and leave
Passes: pieces, bytes, memory
"""

# BLANK 4: in place
dist.all_reduce(grad)
return grad
# END
