"""A mutant that does nothing on four ranks, and a property that tries four

A bug has a reason, and a number of ranks is none: a search over all small numbers finds it without any idea of the cause.
Caught by: new
Passes: accepts right ones, rejects wrong ones
"""


# BLANK 1: on four ranks
@given(number=st.integers(1, 9))
def property_of_mine(average, number):
    """Fails if the ranks do not have the mean of their gradients."""

    def program():
        p = torch.nn.Parameter(torch.zeros(3))
        p.grad = 2.0 * number * dist.get_rank() * torch.ones(3)
        average([p])
        return p.grad.tolist()

    assert sim.run(program, 4).results == [[3.0 * number] * 3] * 4


# END

# BLANK 2: right, but on four ranks
size = dist.get_world_size()
for p in parameters:
    p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    if size != 4:
        dist.all_reduce(p.grad)
        p.grad /= size
# END
