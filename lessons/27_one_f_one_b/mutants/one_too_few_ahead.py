"""The warm-up is one forward too short

This is right, and needs even less memory; but in each round every stage waits where it could compute.
Caught by: bubble
Passes: exactly once, correct, never stuck, memory
"""

# BLANK 1: the order
ahead = min(max(pipe.ranks - rank - 1, 1), pipe.microbatches)
order = [Action(rank, F, k) for k in range(ahead)]
for k in range(pipe.microbatches):
    order.append(Action(rank, B, k))
    if k + ahead < pipe.microbatches:
        order.append(Action(rank, F, k + ahead))
return order
# END
