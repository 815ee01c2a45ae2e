"""Every rank begins with the numbers it has drawn.

The replicas take equal steps from different places, so they never become equal. Nobody notices it while all ranks set the same
seed. A language model was trained so; after a restart it was right, because all ranks then loaded the same checkpoint.

Caught by: start, correct, replicas
Passes: average, buffers, loss, bytes
Seen: https://github.com/allenai/OLMo-core/pull/319
"""

# BLANK 1: only buffers
take_from_rank_0(module.buffers())
# END
