"""Each chunk is added in one place, round the circle from its owner on.

The same on all ranks, and every time. But who owns an element depends on where it stands and on how long the tensor is, and so do its bits.

Caught by: any place
Passes: right, exactly once, same on all, any schedule, bound, bytes
Seen: https://github.com/vllm-project/vllm/pull/57042
"""

# BLANK 1: from the owner on
owner = next(iter(came))
total = came[owner]
for step in range(1, len(came)):
    total = total + came[(owner + step) % len(came)]
return total
# END
