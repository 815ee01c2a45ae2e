"""The ring is not closed: the last rank sends to one that is not there.

Caught by: one ring
Seen: https://github.com/ornladios/ADIOS2/pull/3345
Seen: https://github.com/open-mpi/ompi/issues/9343
"""

# BLANK 1: the last rank has no neighbour
return rank + 1
# END
