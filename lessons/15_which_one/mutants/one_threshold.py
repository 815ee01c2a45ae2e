"""A threshold in bytes, measured once.

NCCL 2.4 had one, which could be set by hand, and 2.5 took it away: since then it computes what each would take, as you do.

Caught by: choice, plugs in
Passes: prices
Seen: https://github.com/NVIDIA/nccl/issues/211
Seen: https://github.com/open-mpi/ompi/pull/12200
"""

# BLANK 4: for all networks and all numbers of ranks
return "recursive_doubling" if nbytes < 65536 else "ring"
# END
