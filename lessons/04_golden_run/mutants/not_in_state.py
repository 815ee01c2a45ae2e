"""The velocity lives in a dictionary of the optimizer's own, which no checkpoint saves: training goes on with velocity 0.

Caught by: resumed
Passes: golden, correct, memory
Seen: https://github.com/kevinzakka/recurrent-visual-attention/issues/8
Seen: https://github.com/apache/mxnet/issues/4638
"""

# BLANK 1: kept elsewhere
kept = self.__dict__.setdefault("velocities", {})
if p not in kept:
    kept[p] = grad.clone()
else:
    kept[p].mul_(momentum).add_(grad, alpha=1 - dampening)
velocity = kept[p]
# END
