"""The sending port counts how long it was busy in all, and not until when.

As long as it is never idle both are the same. After a pause the next message finds a port that seems free.

Caught by: leaves, correct, as the library
Passes: lands, received
"""

# BLANK 1: += counts from the beginning of the program
begins = max(now, self.sending_free[src])
self.sending_free[src] += self.hold(nbytes)
return begins
# END
