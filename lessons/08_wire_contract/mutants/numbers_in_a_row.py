"""A property of vectors

Every array that it draws has one dimension, and its lowest bytes first. Transposed arrays, big-endian ones and single numbers
are never tried, so four wrong ways pass.

Caught by: rejects wrong ones
Passes: accepts right ones
"""


# BLANK 3: vectors only
@given(dtype=st.sampled_from(DTYPES), length=st.integers(0, 4))
def property_of_post(post, dtype, length):
    array = np.arange(length).astype(dtype)
    before = array.copy()
    found = post(array)
    array[...] = 99
    assert found.dtype == before.dtype and found.shape == before.shape
    assert np.array_equal(found, before)


# END
