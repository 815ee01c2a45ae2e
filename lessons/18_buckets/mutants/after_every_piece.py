"""Every piece is averaged: right, but it sends too much.

Averaging equal numbers again does no harm. But of 4 averages 3 are sent for nothing, each 2 (P-1)/P of all gradients.

Caught by: bytes, rounds
Passes: assign, pack, average, pieces, correct
Seen: https://github.com/karpathy/nanochat/pull/33
"""

# BLANK 4: without no_sync
for x, y in pieces:
    loss(model(x), y, total).backward()
# END
