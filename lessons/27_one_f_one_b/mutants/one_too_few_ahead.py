"""The warm-up is one forward too short

Right, and with even less memory; but every stage waits where it could compute, in each round.
Caught by: bubble
Passes: exactly once, right, never stuck, memory
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
