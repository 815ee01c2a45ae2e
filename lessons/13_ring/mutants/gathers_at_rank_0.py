"""all_gather through rank 0, and back to everybody

It is right, and no rank waits for ever. But rank 0 sends all parts to all others: P (P-1) parts, and not P-1. A tree or a star is
short for small tensors; for large ones the cable of rank 0 is the bottleneck.

Caught by: all_gather
Passes: correct, reduce_scatter, all_to_all
"""

# BLANK 3: to rank 0, and back
rank, size = dist.get_rank(), dist.get_world_size()
parts = chunks(output.view(-1), size)
parts[rank].copy_(tensor.view(-1))
if rank:
    dist.send(parts[rank], 0)
    dist.recv(output, 0)
else:
    for other in range(1, size):
        dist.recv(parts[other], other)
    for other in range(1, size):
        dist.send(output, other)
# END
