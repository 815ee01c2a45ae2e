"""A property that compares nothing

It runs everything, on three ranks, and looks at no result: it passes for every `average`. This is the most common wrong test, and
it looks like all others. If its author puts a mistake in and sees nothing fail, the author finds it at once.
Caught by: rejects wrong ones
Passes: accepts right ones, new
Seen: https://github.com/rustledger/rustledger/pull/1971
Seen: https://github.com/rustic-ai/uni-db/issues/205
"""


# BLANK 1: a property
@given(size=st.integers(1, 3))
def property_of_mine(average, size):
    def program():
        used, rare = (torch.nn.Parameter(torch.zeros(3)) for _ in range(2))
        used.grad = torch.ones(3)
        rare.grad = 6 * torch.ones(3)
        average([rare, used])
        return rare.grad.tolist()

    assert len(sim.run(program, size).results) == size


# END
