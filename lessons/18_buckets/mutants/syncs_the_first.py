"""The first piece is averaged, and the last one is not: `number % count` for `(number + 1) % count`.

The gradients that were added after the first average stay on their rank, and the replicas become different.

Caught by: pieces, correct
Passes: assign, pack, average, bytes
Seen: https://github.com/modelscope/FunASR/pull/3472
"""

# BLANK 4: off by one
for number, (x, y) in enumerate(pieces):
    if number % len(pieces) == 0:
        loss(model(x), y, total).backward()
    else:
        with model.no_sync():
            loss(model(x), y, total).backward()
# END
