"""A mutant that the other checks catch, too

It takes the sum instead of the mean: lesson 17 has this mutant. A property against it finds nothing new.
Caught by: new
Passes: accepts right ones, rejects wrong ones
"""

# BLANK 2: right, but for one thing
for p in parameters:
    if p.grad is None:
        p.grad = torch.zeros_like(p)
    dist.all_reduce(p.grad)
# END
