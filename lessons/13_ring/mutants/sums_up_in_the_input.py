"""reduce_scatter that adds into the tensor that it was given

The result is right. But the caller's tensor has sums of some ranks in it afterwards. If it is used again, as in a second
reduce_scatter of the same gradient, some ranks are counted twice.

Caught by: reduce_scatter
Passes: correct, all_gather
"""

# BLANK 4: in place
rank, size = dist.get_rank(), dist.get_world_size()
parts = chunks(tensor.view(-1), size)
for step in range(size - 1):
    received = torch.empty_like(output)
    work = dist.isend(parts[(rank - step - 1) % size], (rank + 1) % size)
    dist.recv(received, (rank - 1) % size)
    work.wait()
    coming = parts[(rank - step - 2) % size]
    coming.copy_(COMBINE[op](coming, received))
output.copy_(parts[rank])
# END
