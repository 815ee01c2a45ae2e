"""A property of tenths, which are rounded

It draws numbers like 0.1, and demands the last bit. Another order of additions rounds differently, and is right, too (lesson 16).

Caught by: accepts right ones
Passes: reduce_scatter
"""


# BLANK 6: tenths
@given(size=st.integers(1, 5), count=st.integers(0, 3))
def property_of_reduce_scatter(reduce_scatter, size, count):
    tensors = [[(n + 7 * rank + 1) / 10 for n in range(size * count)] for rank in range(size)]

    def program():
        output = torch.zeros(count)
        reduce_scatter(output, torch.tensor(tensors[dist.get_rank()]))
        return output.tolist()

    due = torch.tensor(tensors).sum(0).tolist()
    for rank, found in enumerate(sim.run(program, size).results):
        assert found == due[rank * count : (rank + 1) * count]


# END
