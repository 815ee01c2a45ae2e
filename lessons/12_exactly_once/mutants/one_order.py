"""It sees one order of arrival.

All labels are right, on a calm network. On another one a message comes earlier, and a receive that names no source
takes it for another.

Caught by: arrivals
Passes: digits, in words, spares, wrong sums, places, nine of ten
"""

# BLANK 3: without seeds
for size in (1, 2, 3, 5, 8):
    for count in (0, 1, size, size + 1):
        once(all_reduce, size, count)
    once(all_reduce, size, size + 1, strictly=True)
    negative = [[-1.0 - rank] for rank in range(size)]
    largest, _ = play(all_reduce, negative, dist.ReduceOp.MAX)
    assert largest == [[-1.0]] * size
    _, sent = play(all_reduce, [[0.0] * 8 * size] * size)
    assert sent <= 2 * bounds.least_bytes("all_reduce", size, 4 * 8 * size)
# END
