"""A unit is reduced when all its gradients have arrived, and one of them never does.

A head that this step did not need is enough. The other gradients of its unit stay on their rank, and the shard learns nothing.
The unit stays whole, and there is no error.

Caught by: unused
Passes: correct, memory, bytes, fits
"""

# BLANK 8: nothing is left to do, it seems
# END
