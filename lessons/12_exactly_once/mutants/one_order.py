"""It sees one order of arrival.

All labels are right, on a calm network. On another one a message comes earlier, and a receive that names no source
takes it for another.

Caught by: arrivals
Passes: digits, in words, accepts right ones, wrong sums, places, nine of ten
"""


# BLANK 3: without seeds
@given(
    size=st.integers(1, 8),
    count=st.integers(0, 9),
    strictly=st.booleans(),
)
def property_of_all_reduce(all_reduce, size, count, strictly):
    once(all_reduce, size, count, strictly)
    once(all_reduce, size, size)
    largest, _ = play(all_reduce, [[-1.0 - rank] for rank in range(size)], dist.ReduceOp.MAX)
    assert largest == [[-1.0]] * size
    _, sent = play(all_reduce, [[0.0] * 8 * size] * size)
    assert sent <= 2 * bounds.least_bytes("all_reduce", size, 4 * 8 * size)


# END
