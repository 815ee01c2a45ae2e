"""Only parameters that are trained are taken from rank 0.

A frozen layer computes, too: with other numbers on each rank the replicas differ from the first forward on.

Caught by: start
Passes: average, buffers, loss, correct, replicas
"""

# BLANK 1: not all of it
take_from_rank_0([*[p for p in module.parameters() if p.requires_grad], *module.buffers()])
# END
