"""Each rank clips by the norm of its own part.

A rank clips too little, and each rank by another factor. So the whole gradient changes its direction.

Caught by: right
Passes: memory, bytes
Seen: https://github.com/areal-project/AReaL/issues/312
"""

# BLANK 4: without the others
squares = torch.zeros(1, dtype=torch.float64)
for grad in grads:
    squares += (grad * grad).sum().to("cpu", torch.float64)
norm = squares.sqrt().item()
# END
