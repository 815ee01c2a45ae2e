"""All elements carry the same label.

Then a sum tells which ranks are in it, and not which element it is: two swapped chunks look right. A test
that gives each rank one number for its whole tensor makes this mistake.

Caught by: places, arrivals
Passes: digits, in words, spares, wrong sums, nine of ten
"""

# BLANK 3: one label for each rank
for size in (1, 2, 3, 5, 8):
    for count in (0, 1, size, size + 1):
        for seed in (0, 1, 2):
            given = [[BASE**rank] * count for rank in range(size)]
            results, _ = play(all_reduce, given, seed=seed)
            for numbers in results:
                assert all(counts(int(total), size) == [1] * size for total in numbers)
    once(all_reduce, size, 1, strictly=True)
    negative = [[-1.0 - rank] for rank in range(size)]
    largest, _ = play(all_reduce, negative, dist.ReduceOp.MAX)
    assert largest == [[-1.0]] * size
    play(all_reduce, [[1.0] * (size + 1)] * size, strictly=True)
    _, sent = play(all_reduce, [[0.0] * 8 * size] * size)
    assert sent <= 2 * bounds.least_bytes("all_reduce", size, 4 * 8 * size)
# END
