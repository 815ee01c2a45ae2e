"""A property that fails before it has looked

It calls `average` with one argument too many. It fails for every mutant, and for every right version, too. In the course where this was
found nobody had ever run the cell. So nobody saw that its solution was wrong.
Caught by: accepts right ones, rejects wrong ones
Passes: new
Seen: https://github.com/callummcdougall/ARENA_3.0/pull/407
"""


# BLANK 1: a property
@given(size=st.integers(1, 3))
def property_of_mine(average, size):
    def program():
        p = torch.nn.Parameter(torch.zeros(3))
        p.grad = torch.ones(3)
        average([p], dist.get_world_size())
        return p.grad.tolist()

    assert sim.run(program, size).results == [[1.0] * 3] * size


# END
