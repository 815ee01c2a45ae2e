"""Buffers are taken from rank 0 only in training.

Then each rank evaluates with a running mean of its own, and the ranks report losses of different models.

Caught by: buffers
Passes: start, average, loss, correct, replicas
"""

# BLANK 3: not always
if self.module.training:
    take_from_rank_0(self.module.buffers())
# END
