"""A property that forbids what is right

It demands that the gradients are the same objects afterwards, as in its author's version. Other versions make new tensors, or add
in another order. They are just as right, and the property forbids them. Such tests fail on another machine, and are then switched
off.
Caught by: accepts right ones
Passes: new, rejects wrong ones
Seen: https://github.com/RichieHakim/ROICaT/pull/634
"""


# BLANK 1: a property
@given(size=st.integers(1, 3))
def property_of_mine(average, size):
    def program():
        used, rare = (torch.nn.Parameter(torch.zeros(3)) for _ in range(2))
        used.grad = torch.ones(3)
        if dist.get_rank() == 0:
            rare.grad = 6 * torch.ones(3)
        before = used.grad
        average([rare, used])
        return used.grad is before and rare.grad is not None and rare.grad.tolist()

    found = sim.run(program, size).results
    assert found == [[6 / size] * 3] * size, f"found {found} on {size} ranks"


# END
