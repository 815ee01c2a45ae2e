"""Only what a checkpoint saves is taken from rank 0.

A buffer with persistent=False is in no state_dict, and the model computes with it all the same.

Caught by: start
Passes: average, buffers, loss, correct, replicas
"""

# BLANK 1: not all of it
take_from_rank_0(module.state_dict().values())
# END
