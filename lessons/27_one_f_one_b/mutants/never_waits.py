"""No wait for the isend

The send goes beside the computation, as it should. But without a wait it may still be under way when the step is over and the
program writes to its tensor.
Caught by: never stuck
Passes: exactly once, correct
Seen: https://github.com/FEniCS/dolfinx/pull/4328
Seen: https://github.com/MxUI/MUI/pull/38
"""

# BLANK 2: its Work is thrown away
dist.isend(tensor, to, tag=k)
# END
