"""Enter is the identity in both directions.

The loss of the first step is right, because forward is. But each rank hands back the gradient that its own columns saw. All that lies
below the block learns from a P-th of it, and the ranks' copies drift apart.

Caught by: enter and leave, correct, heads, in the library
Passes: pieces, memory
Seen: https://github.com/pytorch/torchtitan/issues/1805
"""

# BLANK 4: the gradient of this rank's columns only
return grad
# END
