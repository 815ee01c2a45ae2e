"""The first piece is averaged, and the last one is not: `number % count` for `(number + 1) % count`.

What was added up after the first average stays on its rank, and the replicas part.

Caught by: right
Passes: bytes
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
