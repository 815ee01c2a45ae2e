"""Each micro-batch goes all the way before the next one begins

This is right, and it needs the least memory. But only one stage works at any time, as if there were no pipeline.
Caught by: bubble
Passes: exactly once, correct, never stuck, in the library
"""

# BLANK 1: the order
return [Action(rank, kind, k) for k in range(pipe.microbatches) for kind in (F, B)]
# END
