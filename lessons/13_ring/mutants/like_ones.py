"""A property in which all ranks give the same numbers

Every rank gives ones, so a sum shows how many were added, and not whose. Which part a rank has does not show either.

Caught by: rejects wrong ones
Passes: accepts right ones, reduce_scatter
"""


# BLANK 6: ones
@given(size=st.integers(1, 5), count=st.integers(0, 3))
def property_of_reduce_scatter(reduce_scatter, size, count):
    def program():
        output = torch.zeros(count)
        reduce_scatter(output, torch.ones(size * count))
        return output.tolist()

    assert sim.run(program, size).results == [[float(size)] * count] * size


# END
