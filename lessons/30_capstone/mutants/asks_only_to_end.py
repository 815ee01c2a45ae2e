"""A property without an assert

Its author saw it fail: the mutant hangs, and the simulator reports that. But for an `average` that ends, it passes whatever the gradients
are.

Caught by: rejects wrong ones
Passes: accepts right ones, new
"""


# BLANK 1: a property
@given(numbers=st.lists(st.none() | st.integers(-9, 9), min_size=1, max_size=3))
def property_of_mine(average, numbers):
    def program():
        used, rare = (torch.nn.Parameter(torch.zeros(3)) for _ in range(2))
        used.grad, number = torch.ones(3), numbers[dist.get_rank()]
        if number is not None:
            rare.grad = 12.0 * number * torch.ones(3)
        average([rare, used])
        return None if rare.grad is None else rare.grad.tolist()

    len(sim.run(program, len(numbers)).results)


# END
