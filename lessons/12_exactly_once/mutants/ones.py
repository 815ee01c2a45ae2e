"""Everybody gives ones, and the sum must be the number of ranks.

A rank that is counted twice makes up for one that is missing.

Caught by: wrong sums, nine of ten
Passes: digits, in words, accepts right ones
"""


# BLANK 3: all alike
@given(size=st.sampled_from([1, 2, 4]))
def property_of_all_reduce(all_reduce, size):
    results, _ = play(all_reduce, [[1.0] * 4] * size)
    assert results == [[float(size)] * 4] * size, results


# END
