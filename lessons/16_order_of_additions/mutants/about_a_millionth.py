"""A tolerance that was found by trying until the test passed.

In float64 a dropped sample of a large batch hides in it. And if the numbers cancel, it is still too small for a right sum.

Caught by: bound
Passes: correct, same on all, any schedule, any place, bytes
Seen: https://github.com/Xilinx/ACCL/issues/103
"""

# BLANK 3: it will do
return torch.full_like(parts[0], 1e-6)
# END
