"""It proves every sum, and never looks at how it came about.

Sends that nobody takes, tensors that are written to while they are sent, and P times the bytes: all of them give right sums. A course's
ring did the last and hung on real GPUs, and nobody knew.

Caught by: nine of ten
Passes: digits, in words, spares, wrong sums
Seen: https://github.com/callummcdougall/ARENA_3.0/pull/407
"""

# BLANK 3: the sums
for size in (1, 2, 3, 5, 8):
    for count in (0, 1, size + 1):
        once(all_reduce, size, count)
# END
