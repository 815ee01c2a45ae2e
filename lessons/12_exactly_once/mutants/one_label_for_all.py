"""All elements carry the same label.

Then a sum tells which ranks are in it, and not which element it is: two swapped chunks look right. A test
that gives each rank one number for its whole tensor makes this mistake.

Caught by: places, arrivals
Passes: digits, in words, accepts right ones, wrong sums, nine of ten
"""


# BLANK 3: one label for each rank
@given(
    size=st.integers(1, 8),
    count=st.integers(0, 9),
    seed=st.integers(0, 3),
    strictly=st.booleans(),
)
def property_of_all_reduce(all_reduce, size, count, seed, strictly):
    for elements in (count, size):
        given = [[BASE**rank] * elements for rank in range(size)]
        results, _ = play(all_reduce, given, strictly=strictly, seed=seed)
        for numbers in results:
            assert all(counts(int(total), size) == [1] * size for total in numbers)
    largest, _ = play(all_reduce, [[-1.0 - rank] for rank in range(size)], dist.ReduceOp.MAX)
    assert largest == [[-1.0]] * size
    _, sent = play(all_reduce, [[0.0] * 8 * size] * size)
    assert sent <= 2 * bounds.least_bytes("all_reduce", size, 4 * 8 * size)


# END
