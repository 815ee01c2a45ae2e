"""Waiting ends at the earlier of two instants.

So no message ever waits for the port. The longer the port is busy, the more of that time lies in the past.

Caught by: received, correct, as the library
Passes: leaves, lands, silent
"""

# BLANK 3: min for max
return min(now, landed)
# END
