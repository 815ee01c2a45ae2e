"""A property that fails before it has looked

It calls `average` with one argument too many. It catches every mutant, and every right version, too. In the course where this was
found nobody had ever run the cell. So nobody saw that its solution was wrong.
Caught by: fair
Passes: new, killed
Seen: https://github.com/callummcdougall/ARENA_3.0/pull/407
"""


# BLANK 1: a property
def program():
    p = torch.nn.Parameter(torch.zeros(3))
    p.grad = torch.ones(3)
    average([p], dist.get_world_size())
    return p.grad.tolist()


for size in (1, 2, 3):
    found = sim.run(program, size).results
    assert found == [[1.0] * 3] * size
# END
