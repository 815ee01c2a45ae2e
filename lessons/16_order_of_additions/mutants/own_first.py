"""Everybody adds everything, and begins with its own.

Rank 0 adds 0, 1, 2, 3; rank 1 adds 1, 0, 2, 3. Each sum is as good as the others, and they differ. This was Open MPI's, and LAMMPS, which
takes it for granted that all ranks get the same, failed.

Caught by: same on all, bytes
Passes: right, exactly once, never stuck, any schedule, bound
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
