"""Each W follows its I at once.

The gradients already travel faster than in 1F1B. But the last stage does its Ws while all others wait for its Is.

Caught by: bubble
Passes: exactly once, split, correct, never stuck, memory
"""

# BLANK 4: no W is put off
order = [Action(rank, F, k) for k in range(ahead)]
for k in range(count):
    order += [Action(rank, I, k), Action(rank, W, k)]
    if k + ahead < count:
        order.append(Action(rank, F, k + ahead))
return order
# END
