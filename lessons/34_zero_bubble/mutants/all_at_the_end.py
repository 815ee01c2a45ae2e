"""All Ws come last.

With many micro-batches no order is faster, but every stage holds all of them until the end. That was GPipe's problem.

Caught by: memory
Passes: exactly once, split, correct, never stuck
"""

# BLANK 4: F and I first
order = [Action(rank, F, k) for k in range(ahead)]
for k in range(count):
    order.append(Action(rank, I, k))
    if k + ahead < count:
        order.append(Action(rank, F, k + ahead))
return order + [Action(rank, W, k) for k in range(count)]
# END
