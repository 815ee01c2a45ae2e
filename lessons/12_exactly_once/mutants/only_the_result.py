"""It proves every sum, and never looks at how it came about.

Sends that nobody takes, tensors that are written to while they are sent, and P times the bytes: all of them give right sums. A course's
ring did the last and hung on real GPUs, and nobody knew.

Caught by: nine of ten
Passes: digits, in words, accepts right ones, wrong sums
Seen: https://github.com/callummcdougall/ARENA_3.0/pull/407
"""


# BLANK 3: the sums
@given(size=st.integers(1, 8), count=st.integers(0, 9))
def property_of_all_reduce(all_reduce, size, count):
    once(all_reduce, size, count)


# END
