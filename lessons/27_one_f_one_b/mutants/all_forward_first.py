"""GPipe once more

Right, and not a millisecond slower; but all micro-batches are in memory.
Caught by: memory
Passes: exactly once, right, never stuck, bubble
"""

# BLANK 1: the order
numbers = range(pipe.microbatches)
return [Action(rank, F, k) for k in numbers] + [Action(rank, B, k) for k in numbers]
# END
