"""A rank is 1.0.

`/` instead of `//`, or `rank + 1.0`: it equals a rank, but is not one. torch raises a TypeError.

Caught by: fold in, correct, any P
Passes: numbers, ranks, fold out
"""

# BLANK 3: to a rank that is not a whole number
if rank < 2 * rest and rank % 2 == 0:
    dist.send(tensor, rank + 1.0)
elif rank < 2 * rest:
    received = torch.empty_like(tensor)
    dist.recv(received, rank - 1)
    tensor.copy_(combine(received, tensor))
# END
