"""Each chunk is added in one place, round the ring, beginning with its owner.

All ranks get the same bits, every time. But the owner of an element depends on the element's place and on the tensor's length. So
the bits of the sum depend on them, too.

Caught by: any place
Passes: correct, exactly once, same on all, any schedule, bound, bytes
Seen: https://github.com/vllm-project/vllm/pull/57042
"""

# BLANK 1: from the owner on
owner = next(iter(came))
total = came[owner]
for step in range(1, len(came)):
    total = total + came[(owner + step) % len(came)]
return total
# END
