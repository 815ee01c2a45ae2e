"""A property that forbids what was never promised

It demands that the array lies row by row in memory when it comes out. Nothing says so: the values and the shape are
right if it lies column by column.

Caught by: accepts right ones
Passes: correct, same everywhere, frozen, refuses, rejects wrong ones
"""


# BLANK 3: in rows
@given(
    dtype=st.sampled_from(DTYPES),
    shape=st.lists(st.integers(0, 3), max_size=3),
    is_big=st.booleans(),
    is_turned=st.booleans(),
)
def property_of_post(post, dtype, shape, is_big, is_turned):
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    array = array.astype(array.dtype.newbyteorder(">")) if is_big else array
    array = array.T if is_turned else array
    before = array.copy()
    found = post(array)
    array[...] = 99
    assert found.dtype == dtype and found.shape == before.shape
    assert found.flags.c_contiguous, "it does not lie row by row"
    assert np.array_equal(found, before)


# END
