"""Waiting ends at the earlier of two instants.

A port that is never too late for anybody: the longer it is kept, the more of it lies in the past.

Caught by: right, as the library
Passes: silent
"""

# BLANK 3: min for max
return min(now, landed)
# END
