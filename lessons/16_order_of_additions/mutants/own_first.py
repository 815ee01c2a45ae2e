"""Every rank adds everything, and begins with its own number.

Rank 0 adds 0, 1, 2, 3; rank 1 adds 1, 0, 2, 3. Each sum is as good as the others, but they differ. Open MPI did this. LAMMPS,
which relies on equal sums on all ranks, failed.

Caught by: same on all, bytes
Passes: correct, exactly once, never stuck, any schedule, bound
Seen: https://github.com/open-mpi/ompi/pull/12258
"""

# BLANK 1: one's own is the first in the dict
first, *others = came
total = came[first]
for rank in sorted(others):
    total = total + came[rank]
return total
# END

# BLANK 2: everything, everywhere
tensor.copy_(added(exchange([tensor] * size)))
# END
