"""reduce_scatter that begins as the all_reduce does

The sums are right, but the one of part r ends at rank r - 1: all_reduce begins there, and does not care where a part is finished.

Caught by: reduce_scatter
Passes: correct, all_gather
"""

# BLANK 4: each rank begins with its own part
rank, size = dist.get_rank(), dist.get_world_size()
parts = chunks(tensor.view(-1), size)
partial = parts[rank]
for step in range(size - 1):
    received = torch.empty_like(output)
    work = dist.isend(partial, (rank + 1) % size)
    dist.recv(received, (rank - 1) % size)
    work.wait()
    partial = COMBINE[op](parts[(rank - step - 1) % size], received)
output.copy_(partial)
# END
