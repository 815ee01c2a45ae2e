"""all_gather forgets its own part

Each rank sends its tensor round, and receives all others. Nobody writes the own one into the output: it comes round only if a ring makes
P steps. In a test with one rank nothing is gathered at all.

Caught by: all_gather
Passes: correct
"""

# BLANK 3: the parts of the others
rank, size = dist.get_rank(), dist.get_world_size()
parts = chunks(output.view(-1), size)
going = tensor.view(-1)
for step in range(size - 1):
    coming = parts[(rank - step - 1) % size]
    work = dist.isend(going, (rank + 1) % size)
    dist.recv(coming, (rank - 1) % size)
    work.wait()
    going = coming
# END
