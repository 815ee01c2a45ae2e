"""A machine that is behind goes on from its own weights.

It takes part again, and its changes are of other weights than those of the others.

Caught by: death, late
Passes: outer step, correct, bytes, quorum
"""

# BLANK 5: everybody has a state already
return state
# END
