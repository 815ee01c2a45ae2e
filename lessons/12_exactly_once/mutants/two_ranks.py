"""It asks two ranks.

The tests of PyTorch's collectives did the same on machines with two GPUs. Some collectives did not work for odd numbers of ranks. That was
seen when the tests ran with three, on another vendor's machines.

Caught by: wrong sums, nine of ten
Passes: digits, in words, accepts right ones
Seen: https://github.com/pytorch/pytorch/issues/76497
"""


# BLANK 3: two
@given(count=st.integers(0, 9))
def property_of_all_reduce(all_reduce, count):
    once(all_reduce, 2, count)
    results, _ = play(all_reduce, [[1.0, 2.0], [10.0, 20.0]])
    assert results == [[11.0, 22.0]] * 2, results


# END
