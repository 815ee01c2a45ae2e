"""A bucket counts numbers, and takes eight bytes for each.

With float32, buckets are half as full as they should be, so there are twice as many messages.

Caught by: assign
Passes: pack, average, pieces, correct, bytes, rounds
"""

# BLANK 1: a gradient of float32 has four
filling.append(p)
if sum(8 * p.numel() for p in filling) >= cap:
    buckets.append(filling)
    filling = []
# END
