"""all_to_all that sends all parts, and then receives

It is right where a send returns at once. Where sends wait, everybody waits in the first one.

Caught by: all_to_all
Passes: correct, all_gather, reduce_scatter
"""

# BLANK 5: first send, then receive
rank, size = dist.get_rank(), dist.get_world_size()
given, taken = chunks(tensor.view(-1), size), chunks(output.view(-1), size)
taken[rank].copy_(given[rank])
for step in range(1, size):
    dist.send(given[(rank + step) % size], (rank + step) % size)
for step in range(1, size):
    dist.recv(taken[(rank - step) % size], (rank - step) % size)
# END
