"""Every piece is averaged: lazy, and right.

An average of what is averaged already is no harm: only 3 of 4 times 2 (P-1)/P of all gradients are sent for nothing.

Caught by: bytes, rounds
Passes: right
Seen: https://github.com/karpathy/nanochat/pull/33
"""

# BLANK 4: without no_sync
for x, y in pieces:
    loss(model(x), y, total).backward()
# END
