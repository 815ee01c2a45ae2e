"""The last rank takes what is left over.

The pieces are complete. But reduce_scatter and all_gather want equal rows, and the last rank computes while all others wait.

Caught by: pieces, heads
Passes: correct, enter and leave, bytes
"""

# BLANK 1: unequal parts
each = length // size
return slice(rank * each, (rank + 1) * each if rank < size - 1 else length)
# END
