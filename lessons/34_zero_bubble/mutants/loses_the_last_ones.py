"""The loop ends with the last I, and the Ws that are behind are never computed.

On stage 0 no W is behind, so there all is right. On the others the last micro-batches train nothing.

Caught by: exactly once, correct
Passes: split
"""

# BLANK 4: without the rest
order = [Action(rank, F, k) for k in range(ahead)]
for k in range(count):
    order.append(Action(rank, I, k))
    if k >= late:
        order.append(Action(rank, W, k - late))
    if k + ahead < count:
        order.append(Action(rank, F, k + ahead))
return order
# END
