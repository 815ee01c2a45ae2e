"""An isend that nobody waits for

It goes beside the computation, as it should. But what nobody asks for may still be under way when the step is over,
and its tensor is written to.
Caught by: never stuck
Passes: exactly once, right
Seen: https://github.com/FEniCS/dolfinx/pull/4328
Seen: https://github.com/MxUI/MUI/pull/38
"""

# BLANK 2: its Work is thrown away
dist.isend(tensor, to, tag=k)
# END
