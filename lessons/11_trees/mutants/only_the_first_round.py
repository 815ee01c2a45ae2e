"""A rank looks for its parent in the first round only.

A rank that speaks for a pair then believes that it is the root, and there are as many roots as pairs.

Caught by: parent, correct
Passes: speaker
"""

# BLANK 2: no further rounds
above = speaker(rank, 2, root)
return above if above != rank else None
# END
