"""One of four operations is another one: the least is the largest.

Sums, products and maxima are right, and a check that tries these three notices nothing.

Caught by: reduce_scatter
Passes: correct, all_gather, all_to_all
"""

# BLANK 4: a table of one's own, with a slip
rank, size = dist.get_rank(), dist.get_world_size()
combine = torch.maximum if op == dist.ReduceOp.MIN else COMBINE[op]
parts = chunks(tensor.view(-1), size)
partial = parts[(rank - 1) % size]
for step in range(size - 1):
    received = torch.empty_like(output)
    work = dist.isend(partial, (rank + 1) % size)
    dist.recv(received, (rank - 1) % size)
    work.wait()
    partial = combine(parts[(rank - step - 2) % size], received)
output.copy_(partial)
# END
