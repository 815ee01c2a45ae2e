"""The order is GPipe's

This is right, and just as fast; but all micro-batches are in memory.
Caught by: memory
Passes: exactly once, correct, never stuck, bubble
"""

# BLANK 1: the order
numbers = range(pipe.microbatches)
return [Action(rank, F, k) for k in numbers] + [Action(rank, B, k) for k in numbers]
# END
