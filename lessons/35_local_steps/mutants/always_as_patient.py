"""Patience stays as it was.

A cable that is slower than it makes each quorum fail, for ever. Nobody is dead.

Caught by: patience
Passes: outer step, correct, bytes, quorum
"""

# BLANK 7: try it again
# END
