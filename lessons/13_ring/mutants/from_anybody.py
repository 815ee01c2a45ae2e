"""It takes what comes, from whichever rank, for what should come in this step.

With equal links messages come in the order of the steps, so it is right in every calm run.

Caught by: all_to_all
Passes: correct, all_gather, reduce_scatter
"""

# BLANK 5: the next message will be the right one
rank, size = dist.get_rank(), dist.get_world_size()
given, taken = chunks(tensor.view(-1), size), chunks(output.view(-1), size)
taken[rank].copy_(given[rank])
for step in range(1, size):
    to, source = (rank + step) % size, (rank - step) % size
    work = dist.isend(given[to], to)
    dist.recv(taken[source])
    work.wait()
# END
