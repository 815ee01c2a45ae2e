"""Buffers are taken from rank 0 only where gradients are wanted.

A validation within torch.no_grad() then runs with other buffers on each rank.

Caught by: buffers
Passes: start, average, loss, correct, replicas
"""

# BLANK 3: not always
import minitorch_dist as torch

if torch.is_grad_enabled():
    take_from_rank_0(self.module.buffers())
# END
