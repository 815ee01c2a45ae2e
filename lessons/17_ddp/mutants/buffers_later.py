"""The ranks begin with equal parameters, and with their own buffers until the first forward.

Training does not notice it. But a checkpoint that is saved before, or an evaluation that begins with `model.module`, has other running means on
each rank.

Caught by: start
Passes: average, buffers, loss, correct, replicas, bytes
"""

# BLANK 1: only parameters
take_from_rank_0(module.parameters())
# END
