"""Folding is forgotten, because everybody measures with 2, 4, 8, 16 ranks.

Open MPI's new table was measured in this way. Then somebody met a broadcast of 4 bytes that took ten times as long with 128 ranks as with
127. The chosen algorithm falls back to a linear one where there are not more elements than ranks.

Caught by: prices, choice
Passes: floor
Seen: https://github.com/open-mpi/ompi/pull/8186
"""

# BLANK 1: as if nobody folded
return rounds_to_all(size) * (links.alpha + links.beta * nbytes)
# END

# BLANK 2: as if nobody folded
sent = 2 * (size - 1) / size * nbytes
return 2 * rounds_to_all(size) * links.alpha + links.beta * sent
# END
