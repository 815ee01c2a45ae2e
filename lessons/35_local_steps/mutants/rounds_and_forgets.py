"""Each change is rounded, and what was rounded away is gone.

A number that is smaller than half a level is rounded to 0 each time. It never reaches the others, however long training goes on.

Caught by: nothing is lost
Passes: outer step, correct, bytes, few bytes, quorum
"""

# BLANK 3: without a memory
levels, scale = to_bytes(change)
# END
