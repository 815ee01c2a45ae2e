"""`& (size - 1)` for `% size`.

They are the same where `size` is a power of two, and the mask is a habit of those who count cycles. With 6 ranks, rank 5 & 5 is 5, but
rank 3 & 5 is 1. It was in the ring that a GPU library takes precisely where there is no power of two.

Caught by: ranks, never stuck
Passes: numbers, fold in, fold out
Seen: https://github.com/meta-pytorch/torchcomms/pull/3214
"""

# BLANK 2: the last step is not needed, and wrong
rank = 2 * number + 1 if number < rest else number + rest
return rank & (size - 1)
# END
